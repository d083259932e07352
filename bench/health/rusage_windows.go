package health

import (
	"time"

	"golang.org/x/sys/windows"
)

// ProcessCPU returns the CPU time that this process has used, user and system.
// It is false where the platform does not tell.
func ProcessCPU() (time.Duration, bool) {
	var created, ended, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(windows.CurrentProcess(), &created, &ended, &kernel, &user); err != nil {
		return 0, false
	}
	return 100 * time.Nanosecond * (units(kernel) + units(user)), true
}

// units returns how many times 100 ns a Filetime that is a duration has.
func units(t windows.Filetime) time.Duration {
	return time.Duration(t.HighDateTime)<<32 | time.Duration(t.LowDateTime)
}

// fileLimit: Windows bounds handles by memory alone.
func fileLimit() (soft, hard int64) { return 0, 0 }
