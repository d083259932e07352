//go:build unix && !linux

package main

import "errors"

func runProfile(options) error { return errors.New("--profile needs Linux and perf") }
