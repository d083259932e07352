package report

import (
	"os"

	"golang.org/x/sys/windows"
)

// Terminal returns whether f is a terminal, and its width in columns.
func Terminal(f *os.File) (width int, ok bool) {
	var info windows.ConsoleScreenBufferInfo
	if err := windows.GetConsoleScreenBufferInfo(windows.Handle(f.Fd()), &info); err != nil {
		return 0, false
	}
	return int(info.Window.Right-info.Window.Left) + 1, true
}
