package transport

import (
	"bufio"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"llmsim-bench/internal/sleep"
)

// countingConn counts what is written to the wire.
type countingConn struct {
	net.Conn
	written atomic.Int64
}

func (c *countingConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.written.Add(int64(n))
	return n, err
}

// writes is what a server did for an order: when it began each write, and how
// many bytes it put on the wire.
type writes struct {
	began []int64
	bytes int64
}

// timedServer answers one request by writes of one chunk each, as many as each
// order says.
type timedServer struct {
	clock  sleep.Clock
	target Target
	tls    *tls.Config // the client's
	order  chan int
	done   chan writes
}

func newTimedServer(t *testing.T, address string, secure bool) *timedServer {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Skip("can't listen:", err)
	}
	s := &timedServer{
		clock: sleep.NewClock(), order: make(chan int), done: make(chan writes, 1),
		target: Target{Address: l.Addr().String(), Host: l.Addr().String(), TLS: secure},
	}
	var server *tls.Config
	if secure {
		server, s.tls = testTLS(t)
	}
	t.Cleanup(func() {
		close(s.order)
		l.Close()
	})
	go func() {
		raw, err := l.Accept()
		if err != nil {
			return
		}
		defer raw.Close()
		wire := &countingConn{Conn: raw}
		var stream net.Conn = wire
		if secure {
			stream = tls.Server(wire, server)
		}
		if !awaitRequest(bufio.NewReader(stream)) {
			return
		}
		io.WriteString(stream, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
		for n := range s.order {
			var w writes
			before := wire.written.Load()
			for range n {
				w.began = append(w.began, s.clock.Now())
				io.WriteString(stream, "5\r\nhello\r\n")
			}
			w.bytes = wire.written.Load() - before
			s.done <- w
		}
	}()
	return s
}

// piece reads one chunk.
func piece(t *testing.T, c *Conn) Received {
	t.Helper()
	var buf [100]byte
	n, came, err := c.ReadBody(buf[:])
	if string(buf[:n]) != "hello" || err != nil {
		t.Fatalf("%q, %v", buf[:n], err)
	}
	if came.NotBefore > came.At || came.At > came.Read {
		t.Fatalf("%+v", came)
	}
	return came
}

// unreadBytes is how many bytes the kernel holds for a connection.
func unreadBytes(t *testing.T, c *Conn) (n int64) {
	t.Helper()
	if err := c.socket.rc.Control(func(fd uintptr) {
		held, err := unix.IoctlGetInt(int(fd), unix.SIOCINQ)
		if err != nil {
			t.Error(err)
		}
		n = int64(held)
	}); err != nil {
		t.Fatal(err)
	}
	return n
}

// connected returns a connection in the middle of an answer, on which kernel
// stamps come if the mode asks for them: Linux begins to give them a moment after
// it was asked.
func (s *timedServer) connected(t *testing.T, mode Timestamps) (*Pool, *Conn) {
	t.Helper()
	p := newPool(t, Config{Target: s.target, Now: s.clock.Now, TLS: s.tls, Timestamps: mode})
	c := get(t, p)
	if s := p.Stats(); s.KernelStamps+s.UserStamps != 0 || p.stamps.watch.seen != (mode == TimestampsKernel) {
		t.Errorf("before an answer: %+v; the clocks were read: %v", s, p.stamps.watch.seen)
	}
	sent, err := c.Send(p.AppendRequest(nil, "GET", "/", nil, nil))
	if err != nil {
		t.Fatal(err)
	}
	if _, at, err := c.ReadHeader(); err != nil || at < sent {
		t.Fatalf("sent at %d, header at %d, %v", sent, at, err)
	}
	until(t, "a stamp of the kernel's", func() bool {
		s.order <- 1
		<-s.done
		piece(t, c)
		return mode == TimestampsUser || p.Stats().KernelStamps > 0
	})
	return p, c
}

func everyWire(t *testing.T, test func(t *testing.T, address string, secure bool)) {
	for name, address := range map[string]string{"IPv4": "127.0.0.1:0", "IPv6": "[::1]:0"} {
		t.Run(name, func(t *testing.T) { test(t, address, false) })
		t.Run(name+" TLS", func(t *testing.T) { test(t, address, true) })
	}
}

// The reader was away while three segments came: their interval holds all their
// writes, and ends with the newest where the kernel says when that was.
func TestReaderThatWasAway(t *testing.T) {
	everyWire(t, func(t *testing.T, address string, secure bool) {
		for _, mode := range []Timestamps{TimestampsKernel, TimestampsUser} {
			s := newTimedServer(t, address, secure)
			p, c := s.connected(t, mode)
			s.order <- 1
			one := <-s.done
			until(t, "the bytes", func() bool { return unreadBytes(t, c) == one.bytes })
			emptied := s.clock.Now()
			piece(t, c)
			before := p.Stats()
			s.order <- 3
			wrote := <-s.done
			until(t, "the bytes", func() bool { return unreadBytes(t, c) == wrote.bytes })
			there := s.clock.Now()
			until(t, "the clock to tell reading from writing", func() bool { return s.clock.Now() > there+5*ms })
			back := s.clock.Now()
			first := piece(t, c)
			for range 2 {
				if came := piece(t, c); came != first {
					t.Errorf("of one read: %+v and %+v", first, came)
				}
			}
			newest := wrote.began[2]
			if first.NotBefore < emptied || first.NotBefore > wrote.began[0] || first.At < newest || first.Read < back || first.Waited {
				t.Errorf("%v: %+v; emptied %d, written %d, read %d", mode, first, emptied, wrote.began, back)
			}
			if byKernel := mode == TimestampsKernel; byKernel != (first.At < back) {
				t.Errorf("%v: came at %d, the read began at %d", mode, first.At, back)
			}
			after := p.Stats()
			if k, u := after.KernelStamps-before.KernelStamps, after.UserStamps-before.UserStamps; k+u != 1 || (k == 1) != (mode == TimestampsKernel) {
				t.Errorf("%v: %d reads by the kernel's stamps, %d by our own", mode, k, u)
			}
		}
	})
}

// One segment read in small pieces came at one moment, although each reading of
// the clocks places its stamp a little elsewhere.
func TestPiecesOfASegmentCameTogether(t *testing.T) {
	s := newTimedServer(t, "127.0.0.1:0", false)
	_, c := s.connected(t, TimestampsKernel)
	for range 50 {
		s.order <- 1
		wrote := <-s.done
		until(t, "the bytes", func() bool { return unreadBytes(t, c) == wrote.bytes })
		var first Received
		buf := make([]byte, 2)
		for left := wrote.bytes; left > 0; {
			n, err := c.socket.Read(buf)
			if err != nil {
				t.Fatal(err)
			}
			came := c.socket.came
			if left == wrote.bytes {
				first = came
			}
			if came.At != first.At || came.NotBefore > came.At || came.At > came.Read {
				t.Fatalf("%d bytes left: %+v, the first piece: %+v", left, came, first)
			}
			left -= int64(n)
		}
	}
}

func TestReaderThatWaits(t *testing.T) {
	everyWire(t, func(t *testing.T, address string, secure bool) {
		for _, mode := range []Timestamps{TimestampsKernel, TimestampsUser} {
			s := newTimedServer(t, address, secure)
			_, c := s.connected(t, mode)
			until(t, "a read that has to wait", func() bool {
				s.order <- 1
				came := piece(t, c)
				wrote := <-s.done
				if came.At < wrote.began[0] || !came.Waited && came.NotBefore > wrote.began[0] {
					t.Fatalf("%+v, written at %d", came, wrote.began)
				}
				return came.Waited
			})
		}
	})
}

// The first read of an answer knows that nothing of it came before the request.
func TestFirstReadIsAfterTheRequest(t *testing.T) {
	p := serve(t, answers(hello, hello))
	c := get(t, p)
	for range 2 {
		sent, err := c.Send(p.AppendRequest(nil, "GET", "/", nil, nil))
		if err != nil {
			t.Fatal(err)
		}
		until(t, "the answer", func() bool { return unreadBytes(t, c) == int64(len(hello)) })
		if _, _, err := readAll(c); err != nil {
			t.Fatal(err)
		}
		if c.socket.came.NotBefore != sent || c.socket.came.Waited {
			t.Errorf("sent at %d, %+v", sent, c.socket.came)
		}
	}
}

func TestWithoutKernelStamps(t *testing.T) {
	refused := errors.New("refused")
	p := serve(t, answers(hello))
	p.enableStamps = func(syscall.RawConn) error { return refused }
	c := get(t, p)
	send(t, p, c)
	if _, text, err := readAll(c); text != "hello" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	if s := p.Stats(); s.KernelStamps != 0 || s.UserStamps == 0 {
		t.Errorf("%+v", s)
	}
	p.cfg.Timestamps = TimestampsKernel
	if _, err := p.Get(testContext(t)); !errors.Is(err, refused) || !strings.Contains(err.Error(), "want auto or user") {
		t.Errorf("kernel stamps that can't be had: %v", err)
	}
}
