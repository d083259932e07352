// Package conn is the simulator's one connection type. It stamps what arrives,
// hands unread bytes from one owner to the next, writes without blocking, and
// notices when the client leaves. It knows nothing of HTTP.
package conn

import (
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// Clock tells the moment, in nanoseconds of a monotonic clock.
type Clock interface{ Now() int64 }

// Bounds of what one connection may hold.
const (
	// maxUnread bounds what is read ahead while a stream runs. Past it reading
	// stops, and a client that leaves is noticed by the next write.
	maxUnread = 64 << 10
	// watchBytes is the size of one read ahead.
	watchBytes = 512
)

// Conn is a TCP connection. One goroutine reads from it (Read, TakeUnread,
// Watch); Send may be called from another.
type Conn struct {
	net.Conn
	raw   syscall.RawConn
	clock Clock

	// mayHoldRequest is set from the moment bytes arrive until the reader asks
	// the kernel for more, which it only does once all it had is answered or
	// too little to be a request.
	mayHoldRequest atomic.Bool
	stamp          int64   // when the last bytes that Read returned were received
	unread         []chunk // read, but not by Read's caller
	unreadBytes    int
	taking         bool // TakeUnread is at work: Read has nothing

	interrupt chan struct{}
	outbox    outbox
}

// chunk is a piece of input with the moment it was received.
type chunk struct {
	bytes []byte
	stamp int64
}

// newConn wraps c, which must offer a raw connection, as TCP does.
func newConn(c net.Conn, clock Clock, maxPending int) (*Conn, error) {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return nil, errors.New("conn: the connection has no file descriptor")
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return nil, err
	}
	nc := &Conn{Conn: c, raw: raw, clock: clock, interrupt: make(chan struct{}, 1)}
	nc.outbox.init(nc, maxPending)
	return nc, nil
}

// Received is when the last bytes that Read returned came from the kernel.
func (c *Conn) Received() int64 { return c.stamp }

// MayHoldRequest reports whether bytes have arrived that may hold a request
// which is not answered yet. It is safe for any goroutine.
func (c *Conn) MayHoldRequest() bool { return c.mayHoldRequest.Load() }

// errTaking ends a Read that TakeUnread made.
var errTaking = errors.New("conn: nothing buffered")

// Read returns unread bytes first, a piece at a time so that each keeps its
// stamp, then asks the kernel.
func (c *Conn) Read(p []byte) (int, error) {
	if c.taking {
		return 0, errTaking
	}
	if len(c.unread) > 0 {
		first := &c.unread[0]
		n := copy(p, first.bytes)
		c.stamp = first.stamp
		first.bytes = first.bytes[n:]
		c.unreadBytes -= n
		if len(first.bytes) == 0 {
			c.unread = c.unread[1:]
		}
		return n, nil
	}
	c.mayHoldRequest.Store(false)
	n, err := c.Conn.Read(p)
	if n > 0 {
		// The order matters: marked, then stamped, then parsed, so that nobody
		// takes an older stamp for the newest while this one is on its way.
		c.mayHoldRequest.Store(true)
		c.stamp = c.clock.Now()
	}
	return n, err
}

// TakeUnread moves what buffered has read from c, but not handed on, back to c:
// the next Read returns it. buffered must be a reader of c.
func (c *Conn) TakeUnread(buffered io.Reader) error {
	c.taking = true
	defer func() { c.taking = false }()
	rest, err := io.ReadAll(buffered)
	if !errors.Is(err, errTaking) {
		return errors.Join(errors.New("conn: the buffer does not read from this connection"), err)
	}
	if len(rest) > 0 {
		c.unread = append([]chunk{{rest, c.stamp}}, c.unread...)
		c.unreadBytes += len(rest)
	}
	return nil
}

// Watch reads ahead until Interrupt is called, and then returns nil; or until
// the client leaves, and then returns why. What it read is for the next Read.
func (c *Conn) Watch() error {
	var buf [watchBytes]byte
	for {
		if c.unreadBytes >= maxUnread {
			<-c.interrupt
			return c.clearInterrupt()
		}
		n, err := c.Conn.Read(buf[:])
		if n > 0 {
			c.unread = append(c.unread, chunk{append([]byte(nil), buf[:n]...), c.clock.Now()})
			c.unreadBytes += n
		}
		switch {
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded):
			<-c.interrupt
			return c.clearInterrupt()
		default:
			return err
		}
	}
}

// past is a deadline that has passed at any time.
var past = time.Unix(1, 0)

// Interrupt ends the running call of Watch, or else the next. It is safe for
// any goroutine, once a call of Watch.
func (c *Conn) Interrupt() {
	// A closed connection ends Watch by itself.
	_ = c.SetReadDeadline(past)
	c.interrupt <- struct{}{}
}

func (c *Conn) clearInterrupt() error { return c.SetReadDeadline(time.Time{}) }

// linger bounds how long and how much CloseGently reads.
const (
	lingerTime  = 2 * time.Second
	lingerBytes = 8 << 20
)

// CloseGently ends the sending side, then reads what the client still sends,
// within bounds, before it closes: closing with unread input resets the
// connection, and the client may lose the answer.
func (c *Conn) CloseGently() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		_ = c.SetReadDeadline(time.Now().Add(lingerTime))
		_, _ = io.CopyN(io.Discard, c.Conn, lingerBytes)
	}
	return c.Conn.Close()
}

// Listener hands out Conns.
type Listener struct {
	net.Listener
	clock      Clock
	maxPending int
}

// NewListener wraps a TCP listener. A connection holds at most maxPending bytes
// that its reader has not taken.
func NewListener(ln net.Listener, clock Clock, maxPending int) *Listener {
	return &Listener{Listener: ln, clock: clock, maxPending: maxPending}
}

// AcceptConn waits for the next connection.
func (l *Listener) AcceptConn() (*Conn, error) {
	c, err := l.Accept()
	if err != nil {
		return nil, err
	}
	return newConn(c, l.clock, l.maxPending)
}
