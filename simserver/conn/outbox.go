package conn

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"time"
)

// ErrSlowReader says that the reader has left more unread than its bound.
var ErrSlowReader = errors.New("conn: the reader takes too little")

// outbox is a connection's sending side. Send tries the kernel at once; what
// the kernel does not take waits here, and is sent by a goroutine that exists
// only as long as something waits.
type outbox struct {
	conn *Conn
	max  int

	// The arguments and results of the write function, which is made once so
	// that a write allocates nothing. They belong to whoever holds mu.
	write  func(fd uintptr) bool
	bytes  []byte
	n      int
	result error

	mu      sync.Mutex
	pending []byte
	sending bool // the goroutine is at work
	failed  error
	empty   sync.Cond // sending has ended
}

func (o *outbox) init(c *Conn, maxPending int) {
	o.conn, o.max = c, maxPending
	o.empty.L = &o.mu
	o.write = func(fd uintptr) bool {
		o.n, o.result = tryWrite(fd, o.bytes)
		return true // done, whatever came of it: never wait for the poller
	}
}

// Send hands p to the kernel without blocking. What the kernel does not take
// at once is kept and sent as the reader makes room, and waited is true. An
// error is final: ErrSlowReader past the bound, else what the kernel said.
func (c *Conn) Send(p []byte) (waited bool, err error) { return c.outbox.add(p, c.outbox.max) }

// SendWhole is Send without a bound on what may wait, for an answer that exists
// in memory as a whole anyway.
func (c *Conn) SendWhole(p []byte) (waited bool, err error) { return c.outbox.add(p, math.MaxInt) }

// add is Send with a bound.
func (o *outbox) add(p []byte, bound int) (waited bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.failed != nil {
		return false, o.failed
	}
	waited = o.sending || direct
	if direct && !o.sending {
		n, err := o.try(p)
		if err != nil {
			o.failed = err
			return false, err
		}
		if n == len(p) {
			return false, nil
		}
		p = p[n:]
	}
	if len(o.pending)+len(p) > bound {
		o.failed = fmt.Errorf("%w: over %d bytes are waiting", ErrSlowReader, bound)
		return waited, o.failed
	}
	o.pending = append(o.pending, p...)
	if !o.sending {
		o.sending = true
		go o.send()
	}
	return waited, nil
}

// try offers p to the kernel once.
func (o *outbox) try(p []byte) (int, error) {
	o.bytes = p
	err := o.conn.raw.Write(o.write)
	o.bytes = nil
	if err != nil {
		return 0, err
	}
	return o.n, o.result
}

// send writes what is pending until nothing is.
func (o *outbox) send() {
	var batch []byte
	o.mu.Lock()
	for len(o.pending) > 0 && o.failed == nil {
		batch, o.pending = o.pending, batch[:0]
		o.mu.Unlock()
		_, err := o.conn.Write(batch)
		o.mu.Lock()
		if err != nil && o.failed == nil {
			o.failed = err
		}
	}
	o.pending, o.sending = nil, false
	o.empty.Broadcast()
	o.mu.Unlock()
}

// Drained reports whether the kernel has taken all that was sent.
func (c *Conn) Drained() bool {
	o := &c.outbox
	o.mu.Lock()
	defer o.mu.Unlock()
	return !o.sending && o.failed == nil
}

// Flush blocks until the kernel has taken all that was sent, for at most limit.
func (c *Conn) Flush(limit time.Duration) error {
	o := &c.outbox
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.sending {
		return o.failed
	}
	if err := c.SetWriteDeadline(time.Now().Add(limit)); err != nil {
		return err
	}
	for o.sending {
		o.empty.Wait()
	}
	if o.failed != nil {
		return o.failed
	}
	return c.SetWriteDeadline(time.Time{})
}
