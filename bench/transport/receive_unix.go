//go:build unix && !linux

package transport

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// canTry says that an attempt at a read does not wait.
const canTry = true

// receiver makes the system calls of one socket's reads.
type receiver struct {
	stamped bool // never on this platform
}

// receive makes one attempt at reading into p, which is not empty. There is no
// stamp.
func (*receiver) receive(fd uintptr, p []byte) (n int, stamp int64, errno syscall.Errno) {
	for {
		n, err := unix.Read(int(fd), p)
		if err == nil {
			return n, 0, 0
		}
		if !errors.As(err, &errno) {
			errno = syscall.EIO // it always is one
		}
		if errno != syscall.EINTR {
			return 0, 0, errno
		}
	}
}

// enableStamps fails: the kernel's stamps are not used on this platform.
func enableStamps(syscall.RawConn) error { return errors.ErrUnsupported }
