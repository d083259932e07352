package child

import "syscall"

// ownProcessGroup keeps a console's Ctrl-C from reaching a child: this process
// decides when the child ends.
func ownProcessGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}
