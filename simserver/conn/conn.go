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
	// stops, and the kernel is asked now and then whether the client has left.
	maxUnread = 64 << 10
	// hangUpPoll is how often.
	hangUpPoll = 50 * time.Millisecond
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
	// place in arrivals, and since when; -1 while it is not there.
	arrivals  *Arrivals
	place     int
	openSince int64

	stamp       int64   // when the last bytes that Read returned were received
	unread      []chunk // read, but not by Read's caller
	unreadBytes int
	taking      bool // TakeUnread is at work: Read has nothing

	interrupt chan struct{}
	outbox    outbox
}

// chunk is a piece of input with the moment it was received.
type chunk struct {
	bytes []byte
	stamp int64
}

// newConn wraps c, which must offer a raw connection, as TCP does.
func newConn(c net.Conn, clock Clock, arrivals *Arrivals, maxPending int) (*Conn, error) {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return nil, errors.New("conn: the connection has no file descriptor")
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return nil, err
	}
	nc := &Conn{Conn: c, raw: raw, clock: clock, arrivals: arrivals, place: -1, interrupt: make(chan struct{}, 1)}
	nc.outbox.init(nc, maxPending)
	return nc, nil
}

// Received is when the last bytes that Read returned came from the kernel.
func (c *Conn) Received() int64 { return c.stamp }

// MayHoldRequest reports whether bytes have arrived that may hold a request
// which is not answered yet. It is safe for any goroutine.
func (c *Conn) MayHoldRequest() bool { return c.mayHoldRequest.Load() }

// LookedAt says that all that was received has been looked at: it was a request
// that has been passed on or refused, or too little to be one.
func (c *Conn) LookedAt() { c.arrivals.end(c) }

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
	c.LookedAt()
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.mayHoldRequest.Store(true)
		c.stamp = c.arrivals.begin(c)
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
			return c.watchUnread()
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

// watchUnread is Watch for a client that has sent as much ahead as is kept.
func (c *Conn) watchUnread() error {
	tick := time.NewTicker(hangUpPoll)
	defer tick.Stop()
	for {
		select {
		case <-c.interrupt:
			return c.clearInterrupt()
		case <-tick.C:
		}
		var left bool
		if err := c.raw.Control(func(fd uintptr) { left = hungUp(fd) }); err != nil {
			return err // closed on this side
		}
		if left {
			return io.EOF
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
	arrivals   *Arrivals
	maxPending int
}

// NewListener wraps a TCP listener. Its connections tell arrivals what they
// receive. A connection holds at most maxPending bytes
// that its reader has not taken.
func NewListener(ln net.Listener, clock Clock, arrivals *Arrivals, maxPending int) *Listener {
	return &Listener{Listener: ln, clock: clock, arrivals: arrivals, maxPending: maxPending}
}

// AcceptConn waits for the next connection.
func (l *Listener) AcceptConn() (*Conn, error) {
	c, err := l.Accept()
	if err != nil {
		return nil, err
	}
	return newConn(c, l.clock, l.arrivals, l.maxPending)
}
