package health

import "os"

// openDescriptors asks for the size of /proc/self/fd, which is their number since
// Linux 6.2 and 0 before; listing thousands of them takes milliseconds.
func openDescriptors() (int64, bool) {
	info, err := os.Stat("/proc/self/fd")
	if err != nil || info.Size() <= 0 {
		return 0, false
	}
	return info.Size(), true
}
