//go:build unix

package child

import "syscall"

// ownProcessGroup keeps a terminal's Ctrl-C from reaching a child: this process
// decides when the child ends.
func ownProcessGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
