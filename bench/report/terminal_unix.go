//go:build unix

package report

import (
	"os"

	"golang.org/x/sys/unix"
)

// Terminal returns whether f is a terminal, and its width in columns.
func Terminal(f *os.File) (width int, ok bool) {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, false
	}
	return int(size.Col), true
}
