package transport

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// promptRead is what a read may take, in nanoseconds, before it counts as one
// that waited, where the platform does not tell.
const promptRead = 50_000

// soon bounds a read that should not wait, where the platform cannot try.
const soon = time.Millisecond

// notYet is a net.Error, and a temporary one, so that TLS can go on after it.
type notYet struct{}

func (notYet) Error() string   { return "nothing has come yet" }
func (notYet) Timeout() bool   { return true }
func (notYet) Temporary() bool { return true }

// errNotYet is the error of a read that would have to wait.
var errNotYet error = notYet{}

// socket is a connection's lowest layer: it notes when the bytes of each read
// came. Reads are for one goroutine at a time and allocate nothing.
type socket struct {
	net.Conn
	stamps  *stamps
	came    Received // of the last read that brought bytes, or the end
	placed  int64    // the stamp by which came.At is, if it was the kernel's word
	noWait  bool     // a read that would wait fails with errNotYet
	answers bool     // what comes are answers, whose stamps are counted

	lookout lookout
	in      receiver
	rc      syscall.RawConn // nil where reads can't be tried
	attempt func(fd uintptr) bool

	// Of the last attempt.
	buf   []byte
	n     int
	stamp int64
	errno syscall.Errno
	again bool
}

// newSocket takes over a connection on which nothing had come at the moment
// began. enable switches the kernel's stamps on; it is nil if they aren't wanted.
func newSocket(raw net.Conn, s *stamps, began int64, enable func(syscall.RawConn) error) (*socket, error) {
	k := &socket{Conn: raw, stamps: s, lookout: lookout{empty: began}, came: Received{NotBefore: began, At: began, Read: began}}
	enabled := errors.ErrUnsupported
	if sc, ok := raw.(syscall.Conn); ok {
		rc, err := sc.SyscallConn()
		if err != nil {
			return nil, err
		}
		if canTry {
			k.rc, k.attempt = rc, k.try
		}
		if enable != nil {
			enabled = enable(rc)
		}
	}
	if enable == nil {
		return k, nil
	}
	if enabled == nil {
		k.in.stamped = true
		s.begin()
	}
	return k, enabled
}

// Read implements net.Conn.
func (k *socket) Read(p []byte) (n int, err error) {
	if len(p) == 0 {
		return 0, nil
	}
	k.lookout.begin()
	if k.rc != nil {
		n, err = k.readTrying(p)
	} else {
		n, err = k.readPlain(p)
	}
	if n > 0 || errors.Is(err, io.EOF) {
		before := k.came
		notBefore := k.lookout.something(n == len(p))
		var kernel bool
		k.came, kernel = k.stamps.place(k.stamp, notBefore, k.lookout.waited)
		if kernel {
			// Two readings of the clocks place one stamp some nanoseconds apart. Bytes of
			// one stamp came together, and none came before those ahead of them.
			k.came.At = max(k.came.At, before.At)
			if k.stamp == k.placed {
				k.came.At = before.At
			}
			k.placed = k.stamp
		}
		if k.answers && n > 0 {
			k.stamps.count(kernel)
		}
	}
	return n, err
}

// readTrying reads with Go's poller, told by each attempt whether anything was
// there.
func (k *socket) readTrying(p []byte) (int, error) {
	k.buf = p
	err := k.rc.Read(k.attempt)
	k.buf = nil
	switch {
	case err != nil:
		var op *net.OpError
		if errors.As(err, &op) {
			op.Op = "read" // as if it were the connection's own
		}
		return 0, err
	case k.again:
		return 0, errNotYet
	case k.errno != 0:
		return 0, &net.OpError{
			Op: "read", Net: k.LocalAddr().Network(), Source: k.LocalAddr(), Addr: k.RemoteAddr(),
			Err: os.NewSyscallError("read", k.errno),
		}
	case k.n == 0:
		return 0, io.EOF
	}
	return k.n, nil
}

// try makes one attempt; false makes the poller wait for the next.
func (k *socket) try(fd uintptr) (done bool) {
	k.lookout.try(k.stamps.now())
	k.n, k.stamp, k.errno = k.in.receive(fd, k.buf)
	k.again = k.errno == syscall.EAGAIN
	if !k.again {
		return true
	}
	k.lookout.nothing()
	return k.noWait
}

// readPlain reads where attempts can't be told apart: a read that takes long is
// taken to have waited.
func (k *socket) readPlain(p []byte) (n int, err error) {
	if k.noWait {
		if err := k.SetReadDeadline(time.Now().Add(soon)); err != nil {
			return 0, err
		}
		defer func() {
			if resetErr := k.SetReadDeadline(time.Time{}); resetErr != nil && err == nil {
				err = resetErr
			}
		}()
	}
	before := k.stamps.now()
	k.lookout.try(before)
	n, err = k.Conn.Read(p)
	if k.stamps.now()-before > promptRead {
		k.lookout.nothing()
	}
	if k.noWait && errors.Is(err, os.ErrDeadlineExceeded) {
		err = errNotYet
	}
	return n, err
}

// stampError explains why a connection has no stamps of the kernel's.
func stampError(err error) error {
	if errors.Is(err, errors.ErrUnsupported) {
		return errors.New("the kernel's timestamps can't be had on this platform; want auto or user")
	}
	return fmt.Errorf("the kernel's timestamps can't be had: %w; want auto or user", err)
}
