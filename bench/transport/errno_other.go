//go:build !windows

package transport

import "syscall"

// What the system says when it has run out of ports, of the process's
// descriptors, and of everybody's.
var (
	errNoPort         error = syscall.EADDRNOTAVAIL
	errNoFile         error = syscall.EMFILE
	errNoFileAnywhere error = syscall.ENFILE
)
