//go:build unix

package conn

import (
	"errors"

	"golang.org/x/sys/unix"
)

// direct says whether tryWrite reaches the kernel.
const direct = true

// tryWrite writes p to a non-blocking descriptor; a full buffer is n = 0.
func tryWrite(fd uintptr, p []byte) (n int, err error) {
	for {
		n, err = unix.Write(int(fd), p)
		switch {
		case err == nil:
			return n, nil
		case errors.Is(err, unix.EAGAIN):
			return 0, nil
		case !errors.Is(err, unix.EINTR):
			return 0, err
		}
	}
}
