//go:build !unix

package transport

import (
	"errors"
	"syscall"
)

// canTry says that an attempt at a read would wait.
const canTry = false

// receiver is never used on this platform.
type receiver struct {
	stamped bool // never on this platform
}

func (*receiver) receive(uintptr, []byte) (n int, stamp int64, errno syscall.Errno) {
	return 0, 0, syscall.EINVAL
}

// enableStamps fails: the kernel's stamps are not used on this platform.
func enableStamps(syscall.RawConn) error { return errors.ErrUnsupported }
