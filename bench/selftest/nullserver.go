package selftest

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"llmsim-bench/internal/sleep"
)

// The bytes that a null server answers with.
const (
	streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
	eventData  = `{"id":"chatcmpl-null","object":"chat.completion.chunk","created":1,"model":"null","choices":[{"index":0,"delta":{"content":" word"},"finish_reason":null}]}`
	finishData = `{"id":"chatcmpl-null","object":"chat.completion.chunk","created":1,"model":"null","choices":[{"index":0,"delta":{},"finish_reason":"length"}]}`
	modelsBody = `{"object":"list","data":[{"id":"null","object":"model","created":1,"owned_by":"llmsim-null"}]}`
)

var (
	eventChunk = chunk("data: " + eventData + "\n\n")
	streamTail = chunk("data: "+finishData+"\n\n") + chunk("data: [DONE]\n\n") + "0\r\n\r\n"

	lastOfStream = []byte(eventChunk + streamTail)
	oneOfStream  = []byte(eventChunk)
)

func chunk(s string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(s), s) }

const (
	// maxPacers bounds the paces served at once, each of which has a thread.
	maxPacers = 16
	// maxWrite is about what an unpaced stream writes at once.
	maxWrite = 64 << 10
)

// NullServer speaks just enough HTTP/1.1 to be benchmarked: GET …/models lists
// one model, and POST …/chat/completions answers with a stream of as many events
// as the body's max_tokens says, one if it says nothing. A path that begins with
// /pace/DURATION, such as /pace/5ms/v1/chat/completions, has them come so far
// apart, each in a write of its own; others have them all at once.
type NullServer struct {
	listener net.Listener
	clock    sleep.Clock

	mu     sync.Mutex
	closed bool
	conns  map[net.Conn]bool
	pacers map[time.Duration]*pacer
	served sync.WaitGroup
}

// ListenNull returns a null server that listens on host:port; port 0 takes a
// free one.
func ListenNull(address string) (*NullServer, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("null server: %w", err)
	}
	return &NullServer{
		listener: l, clock: sleep.NewClock(),
		conns: make(map[net.Conn]bool), pacers: make(map[time.Duration]*pacer),
	}, nil
}

// URL is where the server is, without a path.
func (s *NullServer) URL() string { return "http://" + s.listener.Addr().String() }

// Serve answers until Close. Its error is never nil.
func (s *NullServer) Serve() error {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			if s.isClosed() {
				return net.ErrClosed
			}
			time.Sleep(time.Millisecond) // out of descriptors, for example: some will come back
			continue
		}
		if !s.begin(c) {
			_ = c.Close()
			continue
		}
		go func() {
			defer s.end(c)
			s.serveConn(c)
		}()
	}
}

// Close ends everything at once.
func (s *NullServer) Close() {
	s.mu.Lock()
	s.closed = true
	_ = s.listener.Close()
	for c := range s.conns {
		_ = c.Close()
	}
	for _, p := range s.pacers {
		p.close()
	}
	s.mu.Unlock()
	s.served.Wait()
}

func (s *NullServer) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

func (s *NullServer) begin(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.conns[c] = true
	s.served.Add(1)
	return true
}

func (s *NullServer) end(c net.Conn) {
	_ = c.Close()
	s.mu.Lock()
	delete(s.conns, c)
	s.mu.Unlock()
	s.served.Done()
}

// pacer returns the pacer of a pace, or nil where there are too many.
func (s *NullServer) pacer(pace time.Duration) *pacer {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pacers[pace]
	if p == nil && len(s.pacers) < maxPacers && !s.closed {
		p = newPacer(pace, s.clock, sleep.New(s.clock))
		s.pacers[pace] = p
		s.served.Go(p.run)
	}
	return p
}

// serveConn answers one request after the other.
func (s *NullServer) serveConn(c net.Conn) {
	br := bufio.NewReaderSize(c, 8<<10)
	st := &stream{conn: c, done: make(chan struct{}, 1)}
	var body, out []byte
	for {
		r, err := readRequest(br, &body)
		switch {
		case errors.Is(err, errBadRequest):
			_, _ = c.Write(whole(http.StatusBadRequest, fmt.Sprintf(`{"error":{"message":%q}}`, err)))
			return
		case err != nil:
			return
		case r.models:
			_, err = c.Write(whole(http.StatusOK, modelsBody))
		case !r.chat:
			_, err = c.Write(whole(http.StatusNotFound, `{"error":{"message":"no such path"}}`))
		case r.pace == 0 || r.events == 1:
			out, err = writeUnpaced(c, out, r.events)
		default:
			err = s.servePaced(st, &r)
		}
		if err != nil {
			return
		}
	}
}

// servePaced writes the first event and leaves the others to the pacer.
func (s *NullServer) servePaced(st *stream, r *request) error {
	p := s.pacer(r.pace)
	if p == nil {
		_, err := st.conn.Write(whole(http.StatusBadRequest, `{"error":{"message":"too many different paces"}}`))
		return err
	}
	if _, err := st.conn.Write([]byte(streamHead + eventChunk)); err != nil {
		return err
	}
	st.left = r.events - 1
	if !p.add(st) {
		return net.ErrClosed
	}
	<-st.done
	return st.err
}

// writeUnpaced writes a whole stream, in few writes. It returns out, which it
// uses, for the next time.
func writeUnpaced(c net.Conn, out []byte, events int) ([]byte, error) {
	out = append(out[:0], streamHead...)
	for range events - 1 {
		out = append(out, eventChunk...)
		if len(out) < maxWrite {
			continue
		}
		if _, err := c.Write(out); err != nil {
			return out, err
		}
		out = out[:0]
	}
	out = append(out, lastOfStream...)
	_, err := c.Write(out)
	return out, err
}

// whole is an answer with a JSON body.
func whole(status int, body string) []byte {
	return []byte("HTTP/1.1 " + strconv.Itoa(status) + " " + http.StatusText(status) +
		"\r\nContent-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body)
}
