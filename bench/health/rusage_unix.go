//go:build unix

package health

import (
	"math"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ProcessCPU returns the CPU time that this process has used, user and system.
// It is false where the platform does not tell.
func ProcessCPU() (time.Duration, bool) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0, false
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), true
}

// fileLimit returns RLIMIT_NOFILE. The Go runtime has raised the soft limit to
// the hard one, less one, or to what the system allows, when the process began.
func fileLimit() (soft, hard int64) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0, 0
	}
	finite := func(n uint64) int64 {
		if n > math.MaxInt64 { // unlimited
			return 0
		}
		return int64(n)
	}
	return finite(uint64(limit.Cur)), finite(uint64(limit.Max))
}
