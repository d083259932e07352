//go:build unix

package simserver_test

import (
	"testing"

	"golang.org/x/sys/unix"
)

// descriptors is how many files this process may have open.
func descriptors(t *testing.T) int {
	t.Helper()
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	return int(min(limit.Cur, 1<<20))
}
