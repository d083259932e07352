//go:build !unix

package main

// onReloadSignal never calls f: there is no such signal here.
func onReloadSignal(func()) (stop func()) { return func() {} }
