package main

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime is the CPU time that a process has used, in the resolution of the
// scheduler: /proc has it in hundredths of a second.
func cpuTime(pid int) (time.Duration, error) {
	// The clock of another process, as clock_getcpuclockid(3) builds its id.
	const scheduled = 2
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid)<<3|scheduled, &t); err != nil {
		return 0, err
	}
	return time.Duration(t.Nano()), nil
}
