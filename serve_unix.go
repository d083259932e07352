//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// onReloadSignal calls f on every SIGHUP until stop is called.
func onReloadSignal(f func()) (stop func()) {
	hangUps := make(chan os.Signal, 1)
	signal.Notify(hangUps, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-hangUps:
				f()
			case <-done:
				return
			}
		}
	}()
	return func() {
		signal.Stop(hangUps)
		close(done)
	}
}
