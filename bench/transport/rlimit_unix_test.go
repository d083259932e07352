//go:build unix

package transport

import (
	"testing"

	"golang.org/x/sys/unix"
)

// needDescriptors raises the limit of descriptors, or skips the test.
func needDescriptors(t *testing.T, n int) {
	t.Helper()
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		t.Fatal(err)
	}
	if int64(l.Cur) >= int64(n) || int64(l.Cur) < 0 {
		return
	}
	if int64(l.Max) >= 0 && int64(l.Max) < int64(n) {
		t.Skipf("needs %d descriptors; the hard limit is %d (ulimit -Hn)", n, l.Max)
	}
	l.Cur = l.Max
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		t.Skipf("needs %d descriptors; can't raise the limit: %v", n, err)
	}
}
