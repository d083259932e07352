package load

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"llmsim-bench/internal/sleep"
)

// span is when a write began and ended.
type span struct{ start, end int64 }

// serverLog is what a scripted server did, on the client's clock.
type serverLog struct {
	request  int64 // when it had read the request; 0: it did not
	header   span
	segments []span
	err      error
}

// scriptedServer plays one case to one client.
type scriptedServer struct {
	*streamCase
	l     net.Listener
	clock sleep.Clock
	stop  chan struct{}
	done  chan struct{}
	log   serverLog // once done is closed
}

func listen(c *streamCase, clock sleep.Clock) (*scriptedServer, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &scriptedServer{streamCase: c, l: l, clock: clock, stop: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		s.log.err = s.serve()
	}()
	return s, nil
}

func (s *scriptedServer) close() {
	s.l.Close()
	<-s.done
}

// end stops the server and returns what it did.
func (s *scriptedServer) end() serverLog {
	close(s.stop)
	s.close()
	return s.log
}

func (s *scriptedServer) serve() error {
	c, err := s.l.Accept()
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(caseLimit)); err != nil {
		return err
	}
	r, err := http.ReadRequest(bufio.NewReader(c))
	if err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return err
	}
	s.log.request = s.clock.Now()
	headerDue := s.HeadersAtMS
	var withHeader []byte // the header, once it waits for the first segment
	if headerDue == nil && len(s.Segments) > 0 {
		withHeader = s.header()
	} else {
		if headerDue != nil && !s.await(*headerDue) {
			return nil
		}
		s.log.header, err = s.write(c, s.header())
	}
	for i := 0; i < len(s.Segments) && err == nil; i++ {
		if !s.await(s.Segments[i].AtMS) {
			return nil
		}
		var w span
		w, err = s.write(c, append(withHeader, s.frame(s.Segments[i].Raw)...))
		if withHeader != nil {
			s.log.header, withHeader = w, nil
		}
		s.log.segments = append(s.log.segments, w)
	}
	if err != nil {
		return err
	}
	return s.finish(c.(*net.TCPConn))
}

// await waits until ms after the request. It reports whether the case goes on:
// once the client is done, nothing more is sent.
func (s *scriptedServer) await(ms int64) (goesOn bool) {
	return s.pause(time.Duration(s.log.request + ms*1e6 - s.clock.Now()))
}

func (s *scriptedServer) pause(d time.Duration) (goesOn bool) {
	select {
	case <-time.After(d):
		return true
	case <-s.stop:
		return false
	}
}

// header is the answer's header block.
func (s *scriptedServer) header() []byte {
	version := "1.1"
	if s.Framing == "close" {
		version = "1.0"
	}
	b := fmt.Appendf(nil, "HTTP/%s %d %s\r\n", version, s.Status, http.StatusText(s.Status))
	for name, value := range s.Headers {
		b = fmt.Appendf(b, "%s: %s\r\n", name, value)
	}
	if s.Framing == "chunked" {
		b = append(b, "Transfer-Encoding: chunked\r\n"...)
	}
	return append(b, "\r\n"...)
}

// frame frames a segment as the case asks.
func (s *scriptedServer) frame(raw string) []byte {
	if s.Framing == "close" {
		return []byte(raw)
	}
	size := len(raw)
	if n, chunks := strings.CutPrefix(s.Split, "chunks:"); chunks {
		size, _ = strconv.Atoi(n) // serve's finish tells if it is no number
	}
	var b []byte
	for size > 0 && len(raw) > 0 {
		n := min(size, len(raw))
		b = fmt.Appendf(b, "%x\r\n%s\r\n", n, raw[:n])
		raw = raw[n:]
	}
	return b
}

// write writes b at once, or byte by byte where the case asks for that.
func (s *scriptedServer) write(c net.Conn, b []byte) (w span, err error) {
	size := max(len(b), 1)
	if s.Split == "bytes" {
		size = 1
	}
	w.start = s.clock.Now()
	for piece := range slices.Chunk(b, size) {
		if _, err = c.Write(piece); err != nil {
			break
		}
	}
	w.end = s.clock.Now()
	return w, err
}

// finish ends the answer and the connection as the case says, and tells what of
// the case it could not play.
func (s *scriptedServer) finish(c *net.TCPConn) error {
	if n, err := strconv.Atoi(strings.TrimPrefix(s.Split, "chunks:")); s.Split != "" && s.Split != "bytes" && (err != nil || n < 1) {
		return fmt.Errorf("split %q is neither bytes nor chunks:N", s.Split)
	}
	if s.Framing != "chunked" && s.Framing != "close" {
		return fmt.Errorf("framing %q is neither chunked nor close", s.Framing)
	}
	ms, hold := strings.CutPrefix(s.End, "hold:")
	switch {
	case s.End == "clean" && s.Framing == "chunked":
		if _, err := s.write(c, []byte("0\r\n\r\n")); err != nil {
			return err
		}
		<-s.stop // the connection is kept
	case s.End == "clean", s.End == "fin":
	case s.End == "rst":
		// A moment later: with a reset, some systems drop what is unread.
		s.pause(20 * time.Millisecond)
		return c.SetLinger(0)
	case hold:
		n, err := strconv.Atoi(ms)
		if err != nil {
			return fmt.Errorf("end %q: %w", s.End, err)
		}
		s.pause(time.Duration(n) * time.Millisecond)
	default:
		return fmt.Errorf("end %q is none of clean, fin, rst, hold:MS", s.End)
	}
	return nil
}
