package main

import (
	"testing"

	"github.com/shirou/gopsutil/v3/process"
)

// childrenOf returns the running child processes of pid.
func childrenOf(t *testing.T, pid int) []*process.Process {
	t.Helper()
	p, err := process.NewProcess(int32(pid))
	if err != nil {
		t.Fatal(err)
	}
	children, err := p.Children()
	if err != nil {
		t.Fatal(err)
	}
	return children
}

// isZombie reports whether a process has ended and waits to be collected.
func isZombie(p *process.Process) bool {
	status, err := p.Status()
	return err == nil && len(status) > 0 && status[0] == process.Zombie
}
