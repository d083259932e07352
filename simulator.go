package main

import "llmsim-bench/internal/child"

// startSimulator starts serve on a free loopback port, with other flags if there
// are any, and waits until it listens.
func startSimulator(flags ...string) (*child.Process, error) {
	return child.Start("the simulator", append([]string{"serve", "--" + flagListen, "127.0.0.1:0", "--" + flagUntilStdin}, flags...)...)
}
