package transport

import "golang.org/x/sys/windows"

// What the system says when it has run out of ports and of descriptors.
var (
	errNoPort         error = windows.WSAEADDRNOTAVAIL
	errNoFile         error = windows.WSAEMFILE
	errNoFileAnywhere error = windows.WSAENOBUFS
)
