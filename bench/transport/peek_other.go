//go:build !unix

package transport

import "net"

// mayRead cannot tell on this platform: the caller tries, for up to soon.
func mayRead(net.Conn) bool { return true }
