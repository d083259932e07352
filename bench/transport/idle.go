package transport

import (
	"errors"
	"io"
)

// maxTail bounds what is read of a body that its caller had enough of.
const maxTail = 64 << 10

// readiness of an idle connection for another request.
type readiness int

const (
	ready       readiness = iota
	waitingTail           // the end of its last body has not come yet
	unusable              // closed by the peer, or out of step
)

// reusable reports whether the connection may serve another request once its
// body has ended.
func (c *Conn) reusable() bool {
	switch c.body.state {
	case bodyUnread:
		return !c.sent
	case bodyUntilClose:
		return false
	}
	return !c.broken
}

// readiness takes what has come of the last body's end, without waiting for more
// of it, and says whether the connection can serve another request.
func (c *Conn) readiness() readiness {
	c.socket.noWait = true
	defer func() { c.socket.noWait = false }()
	var scratch [4 << 10]byte
	for taken := 0; c.body.state != bodyDone && c.body.state != bodyUnread; {
		n, err := c.body.read(c.br, scratch[:])
		taken += n
		switch {
		case taken > maxTail:
			return unusable
		case errors.Is(err, errNotYet):
			return waitingTail
		case err != nil && !errors.Is(err, io.EOF):
			return unusable
		}
	}
	// Whatever is here now is the peer's farewell, or an answer to nothing.
	if _, err := c.br.Peek(1); errors.Is(err, errNotYet) {
		return ready
	}
	return unusable
}
