//go:build unix && !linux

package main

import (
	"time"

	"github.com/shirou/gopsutil/v3/process"
)

// cpuTime is the CPU time that a process has used.
func cpuTime(pid int) (time.Duration, error) {
	p, err := process.NewProcess(int32(pid))
	if err != nil {
		return 0, err
	}
	t, err := p.Times()
	if err != nil {
		return 0, err
	}
	return time.Duration((t.User + t.System) * float64(time.Second)), nil
}
