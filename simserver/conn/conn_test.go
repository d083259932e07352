package conn

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"llmsim-bench/internal/sleep"
)

// pair returns both ends of a loopback connection; the client's is plain.
func pair(t *testing.T, maxPending int) (*Conn, *net.TCPConn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	client, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	server, err := NewListener(ln, sleep.NewClock(), &Arrivals{}, maxPending).AcceptConn()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	return server, client.(*net.TCPConn)
}

func write(t *testing.T, w io.Writer, s string) {
	t.Helper()
	if _, err := io.WriteString(w, s); err != nil {
		t.Fatal(err)
	}
}

func readN(t *testing.T, r io.Reader, n int) string {
	t.Helper()
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestUnreadBytesComeBackInOrderWithTheirStamps(t *testing.T) {
	server, client := pair(t, 1<<20)
	write(t, client, "firstSECOND")
	buffered := bufio.NewReader(server)
	if got := readN(t, buffered, 5); got != "first" {
		t.Fatalf("read %q", got)
	}
	for buffered.Buffered() < 6 { // both words may not have come in one segment
		if _, err := buffered.Peek(buffered.Buffered() + 1); err != nil {
			t.Fatal(err)
		}
	}
	stamp := server.Received()
	if err := server.TakeUnread(buffered); err != nil {
		t.Fatal(err)
	}
	watched := make(chan error)
	go func() { watched <- server.Watch() }()
	write(t, client, "third")
	server.Interrupt()
	if err := <-watched; err != nil {
		t.Fatal(err)
	}
	if got := readN(t, server, 6); got != "SECOND" {
		t.Errorf("read %q, want SECOND", got)
	}
	if server.Received() != stamp {
		t.Errorf("the unread bytes are stamped %d, want %d", server.Received(), stamp)
	}
	if got := readN(t, server, 5); got != "third" {
		t.Errorf("read %q, want third", got)
	}
	if server.Received() <= stamp {
		t.Errorf("what came later is stamped %d, not after %d", server.Received(), stamp)
	}
	if !server.MayHoldRequest() {
		t.Error("the connection has unanswered bytes but is not marked")
	}
}

func TestTakeUnreadRefusesAForeignBuffer(t *testing.T) {
	server, _ := pair(t, 1)
	if err := server.TakeUnread(bytes.NewReader(nil)); err == nil {
		t.Error("a reader of something else was accepted")
	}
}

func TestMarkEndsWhenTheReaderAsksForMore(t *testing.T) {
	server, client := pair(t, 1)
	write(t, client, "a")
	readN(t, server, 1)
	if !server.MayHoldRequest() {
		t.Fatal("not marked after bytes came")
	}
	client.CloseWrite()
	if _, err := server.Read(make([]byte, 1)); err != io.EOF {
		t.Fatalf("read: %v", err)
	}
	if server.MayHoldRequest() {
		t.Error("still marked though the reader asked for more and got none")
	}
}

func TestArrivalsAreOpenUntilLookedAt(t *testing.T) {
	server, client := pair(t, 1)
	before := server.clock.Now()
	write(t, client, "ab")
	readN(t, server, 1)
	readN(t, server, 1) // the kernel gave both: still the same arrival
	if server.arrivals.Settled(server.Received()) {
		t.Error("settled though nobody has looked")
	}
	if !server.arrivals.Settled(before) {
		t.Error("not settled for a moment before the arrival")
	}
	server.LookedAt()
	if !server.arrivals.Settled(server.clock.Now()) {
		t.Error("not settled after the look")
	}
	write(t, client, "c")
	readN(t, server, 1)
	client.CloseWrite()
	if _, err := server.Read(make([]byte, 1)); err != io.EOF {
		t.Fatal(err)
	}
	if !server.arrivals.Settled(server.clock.Now()) {
		t.Error("too little to be a request holds others up")
	}
}

func TestWatchNoticesThatTheClientLeaves(t *testing.T) {
	for name, leave := range map[string]func(*net.TCPConn){
		"close": func(c *net.TCPConn) { c.Close() },
		"reset": func(c *net.TCPConn) { _ = c.SetLinger(0); c.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			server, client := pair(t, 1)
			watched := make(chan error)
			go func() { watched <- server.Watch() }()
			leave(client)
			if err := <-watched; err == nil {
				t.Error("Watch returned as if interrupted")
			}
		})
	}
}

func TestInterruptBeforeWatch(t *testing.T) {
	server, client := pair(t, 1)
	for range 3 {
		server.Interrupt()
		if err := server.Watch(); err != nil {
			t.Fatal(err)
		}
	}
	write(t, client, "x")
	if got := readN(t, server, 1); got != "x" {
		t.Errorf("read %q after interrupts", got)
	}
}

// watching starts Watch behind a client that has sent more than is kept, and
// returns once the bound is reached.
func watching(t *testing.T) (server *Conn, client *net.TCPConn, sent []byte, watched chan error) {
	t.Helper()
	server, client = pair(t, 1)
	sent = bytes.Repeat([]byte("0123456789abcdef"), (maxUnread+1000)/16)
	write(t, client, string(sent))
	// The read ahead leaves what is over the bound in the kernel: Watch is there
	// when it has taken that much.
	watched = make(chan error, 1)
	reached := make(chan struct{})
	server.Conn = &countingConn{Conn: server.Conn, left: maxUnread, reached: reached}
	go func() { watched <- server.Watch() }()
	<-reached
	return server, client, sent, watched
}

// countingConn closes reached when so many bytes were read.
type countingConn struct {
	net.Conn
	left    int
	reached chan struct{}
}

func (c *countingConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.left > 0 {
		if c.left -= n; c.left <= 0 {
			close(c.reached)
		}
	}
	return n, err
}

func TestWatchStopsReadingAtItsBound(t *testing.T) {
	server, _, sent, watched := watching(t)
	server.Interrupt()
	if err := <-watched; err != nil {
		t.Fatal(err)
	}
	if server.unreadBytes < maxUnread || server.unreadBytes > maxUnread+watchBytes {
		t.Errorf("%d bytes were read ahead, the bound is %d", server.unreadBytes, maxUnread)
	}
	if got := readN(t, server, len(sent)); got != string(sent) {
		t.Error("bytes were lost or changed order across the bound")
	}
}

func TestWatchNoticesALeavingClientPastItsBound(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells of a hang-up behind unread bytes")
	}
	_, client, _, watched := watching(t)
	client.Close()
	if err := <-watched; err == nil {
		t.Error("Watch returned as if interrupted")
	}
}

func TestClosingEndsAWatchPastItsBound(t *testing.T) {
	server, _, _, watched := watching(t)
	server.Close()
	if err := <-watched; err == nil {
		t.Error("Watch returned as if interrupted")
	}
}

// block fills what the kernel takes for a reader that does not read, and
// returns how much was sent.
func block(t *testing.T, server *Conn) []byte {
	t.Helper()
	var sent []byte
	for i := 0; ; i++ {
		piece := bytes.Repeat([]byte{byte(i)}, 64<<10)
		waited, err := server.Send(piece)
		if err != nil {
			t.Fatal(err)
		}
		sent = append(sent, piece...)
		if waited {
			return sent
		}
	}
}

func TestASlowReaderGetsEverythingInOrder(t *testing.T) {
	server, client := pair(t, 1<<20)
	sent := block(t, server)
	for i := range 10 {
		piece := bytes.Repeat([]byte{byte('a' + i)}, 1000)
		if waited, err := server.Send(piece); err != nil || !waited {
			t.Fatalf("waited %v, error %v", waited, err)
		}
		sent = append(sent, piece...)
	}
	flushed := make(chan error)
	go func() { flushed <- server.Flush(time.Minute) }()
	if got := readN(t, client, len(sent)); got != string(sent) {
		t.Error("bytes were lost or changed order")
	}
	if err := <-flushed; err != nil {
		t.Fatal(err)
	}
	if waited, err := server.Send([]byte("x")); waited || err != nil {
		t.Errorf("after the reader caught up: waited %v, error %v", waited, err)
	}
}

func TestAReaderPastTheBoundIsRefused(t *testing.T) {
	server, _ := pair(t, 100<<10)
	block(t, server)
	var err error
	for range 2 {
		_, err = server.Send(make([]byte, 64<<10))
	}
	if !errors.Is(err, ErrSlowReader) {
		t.Fatalf("got %v, want %v", err, ErrSlowReader)
	}
	if _, err := server.Send([]byte("x")); !errors.Is(err, ErrSlowReader) {
		t.Errorf("the failure did not last: %v", err)
	}
}

func TestAWholeAnswerHasNoBound(t *testing.T) {
	server, client := pair(t, 10)
	answer := bytes.Repeat([]byte("0123456789"), 2<<20)
	if waited, err := server.SendWhole(answer); err != nil || !waited {
		t.Fatalf("waited %v, error %v", waited, err)
	}
	flushed := make(chan error, 1)
	go func() { flushed <- server.Flush(time.Minute) }()
	if got := readN(t, client, len(answer)); got != string(answer) {
		t.Error("bytes were lost")
	}
	if err := <-flushed; err != nil {
		t.Error(err)
	}
}

func TestFlushIsBounded(t *testing.T) {
	server, _ := pair(t, 1<<20)
	block(t, server)
	if err := server.Flush(time.Millisecond); err == nil {
		t.Error("flushed though nobody reads")
	}
}

func TestSendToAClientThatLeft(t *testing.T) {
	server, client := pair(t, 1<<20)
	_ = client.SetLinger(0)
	client.Close()
	if err := server.Watch(); err == nil {
		t.Fatal("the client's leaving was not noticed")
	}
	if _, err := server.Send([]byte("x")); err == nil {
		t.Error("sent to a connection that was reset")
	}
}

func TestSendDoesNotAllocate(t *testing.T) {
	server, client := pair(t, 1<<20)
	go func() { _, _ = io.Copy(io.Discard, client) }()
	piece := []byte("data: {}\n\n")
	if n := testing.AllocsPerRun(1000, func() {
		if _, err := server.Send(piece); err != nil {
			t.Error(err)
		}
	}); n > 0.1 {
		t.Errorf("%v allocations a Send, want none", n)
	}
}
