package health

import (
	"context"
	"time"
)

// WatchWindow starts the monitor for a window of time that begins after a lead, or
// until ctx ends: what comes before and after says nothing about a measurement in
// it. inside, where given, is called when the window begins and when it ends. stop
// ends the watch, if it still lasts, and returns what was seen.
func (m *Monitor) WatchWindow(ctx context.Context, lead, length time.Duration, inside func(begins bool)) (stop func() Report) {
	ctx, cancel := context.WithCancel(ctx)
	wait := func(d time.Duration) {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	note := func(begins bool) {
		if inside != nil {
			inside(begins)
		}
	}
	seen := make(chan Report, 1)
	go func() {
		wait(lead)
		note(true)
		m.Start()
		wait(length)
		note(false)
		seen <- m.Stop()
	}()
	return func() Report {
		cancel()
		return <-seen
	}
}
