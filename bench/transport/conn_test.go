package transport

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"llmsim-bench/internal/sleep"
)

// patience is when a test gives up waiting for what should come at once.
const patience = 20 * time.Second

// serve runs script for every connection to a new server, closes the connection
// when script returns, and returns a pool of connections to the server.
func serve(t *testing.T, script func(c net.Conn, br *bufio.Reader)) *Pool {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				script(c, bufio.NewReader(c))
			}()
		}
	}()
	return newPool(t, Config{Target: Target{Address: l.Addr().String(), Host: l.Addr().String()}})
}

func newPool(t *testing.T, cfg Config) *Pool {
	if cfg.Now == nil {
		cfg.Now = sleep.NewClock().Now
	}
	p := New(cfg)
	t.Cleanup(p.Close)
	return p
}

// setClock gives a pool that has no connections yet a clock of the test's.
func setClock(p *Pool, now func() int64) {
	p.cfg.Now, p.stamps.now = now, now
	p.cfg.Timestamps = TimestampsUser
}

// dialled is what a pool's counts say of its connections.
func dialled(p *Pool) Stats {
	s := p.Stats()
	return Stats{Dials: s.Dials, Reuses: s.Reuses, Stale: s.Stale}
}

// awaitRequest reads one request; it is false once the client is gone.
func awaitRequest(br *bufio.Reader) bool {
	req, err := http.ReadRequest(br)
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, req.Body)
	return err == nil
}

// answers is a script that sends one answer a request.
func answers(raw ...string) func(net.Conn, *bufio.Reader) {
	return func(c net.Conn, br *bufio.Reader) {
		for _, r := range raw {
			if !awaitRequest(br) {
				return
			}
			io.WriteString(c, r)
		}
		awaitRequest(br)
	}
}

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

func get(t *testing.T, p *Pool) *Conn {
	t.Helper()
	c, err := p.Get(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func send(t *testing.T, p *Pool, c *Conn) {
	t.Helper()
	if _, err := c.Send(p.AppendRequest(nil, "GET", "/", nil, nil)); err != nil {
		t.Fatal(err)
	}
}

// readAll reads an answer to its end.
func readAll(c *Conn) (status int, text string, err error) {
	h, _, err := c.ReadHeader()
	if err != nil {
		return 0, "", err
	}
	status = h.StatusCode()
	var got strings.Builder
	buf := make([]byte, 100)
	for {
		n, _, err := c.ReadBody(buf)
		got.Write(buf[:n])
		if errors.Is(err, io.EOF) {
			return status, got.String(), nil
		}
		if err != nil {
			return status, got.String(), err
		}
	}
}

// until waits for a condition.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

const hello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

func TestAnswers(t *testing.T) {
	long := "X-Long: " + strings.Repeat("x", 20<<10) + "\r\n"
	for _, tt := range []struct {
		name, raw, want string
		status          int
		err             error
	}{
		{"length", hello, "hello", 200, nil},
		{"chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", "hello", 200, nil},
		{"informational", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + hello, "hello", 200, nil},
		{"no content", "HTTP/1.1 204 No Content\r\n\r\n", "", 204, nil},
		{"long header", "HTTP/1.1 200 OK\r\n" + long + "Content-Length: 5\r\n\r\nhello", "hello", 200, nil},
		{"too long header", "HTTP/1.1 200 OK\r\n" + strings.Repeat(long, 4) + "\r\n", "", 0, ErrProtocol},
		{"endless line", strings.Repeat("x", 100<<10), "", 0, ErrProtocol},
		{"not HTTP", "SSH-2.0-OpenSSH\r\n\r\n", "", 0, ErrProtocol},
		{"bad length", "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello", "", 0, ErrProtocol},
		{"switching protocols", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", "", 0, ErrProtocol},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := serve(t, answers(tt.raw))
			c := get(t, p)
			send(t, p, c)
			status, text, err := readAll(c)
			if status != tt.status || text != tt.want || !errors.Is(err, tt.err) {
				t.Errorf("%d, %q, %v", status, text, err)
			}
		})
	}
}

func TestCutAnswers(t *testing.T) {
	for _, raw := range []string{
		"", "HTTP/1.1 20", "HTTP/1.1 200 OK\r\nContent-", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
	} {
		p := serve(t, func(c net.Conn, br *bufio.Reader) {
			awaitRequest(br)
			io.WriteString(c, raw)
		})
		c := get(t, p)
		send(t, p, c)
		if _, _, err := readAll(c); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%q: %v", raw, err)
		}
	}
}

func TestUntilClose(t *testing.T) {
	p := serve(t, func(c net.Conn, br *bufio.Reader) {
		awaitRequest(br)
		io.WriteString(c, "HTTP/1.0 200 OK\r\n\r\nhello")
	})
	for range 2 {
		c := get(t, p)
		send(t, p, c)
		if _, text, err := readAll(c); text != "hello" || err != nil {
			t.Errorf("%q, %v", text, err)
		}
		p.Put(c)
	}
	if s := dialled(p); s != (Stats{Dials: 2}) {
		t.Errorf("%+v", s)
	}
}

// A chunk's bytes come out although the line end after it never comes.
func TestChunkIsReadBeforeItsLineEnd(t *testing.T) {
	p := serve(t, answers("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello"))
	c := get(t, p)
	send(t, p, c)
	if _, _, err := c.ReadHeader(); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 100)
	if n, _, err := c.ReadBody(buf); string(buf[:n]) != "hello" || err != nil {
		t.Errorf("%q, %v", buf[:n], err)
	}
}

// Each piece carries the instant of the read that brought it.
func TestInstants(t *testing.T) {
	next := make(chan struct{})
	p := serve(t, func(c net.Conn, br *bufio.Reader) {
		awaitRequest(br)
		for _, part := range []string{"HTTP/1.1 200 OK\r\n", "Content-Length: 6\r\n\r\nabc", "def"} {
			<-next
			io.WriteString(c, part)
		}
		awaitRequest(br)
	})
	var now atomic.Int64
	setClock(p, now.Load)
	c := get(t, p)
	now.Store(10)
	sent, err := c.Send(p.AppendRequest(nil, "GET", "/", nil, nil))
	if sent != 10 || err != nil {
		t.Fatalf("sent at %d, %v", sent, err)
	}
	now.Store(20)
	next <- struct{}{}
	if at, err := c.awaitLine(); at != 20 || err != nil {
		t.Fatalf("status line at %d, %v", at, err)
	}
	now.Store(25)
	next <- struct{}{}
	if _, at, err := c.ReadHeader(); at != 20 || err != nil {
		t.Fatalf("header at %d, %v", at, err)
	}
	buf := make([]byte, 2)
	for _, want := range []struct {
		text string
		at   int64
	}{{"ab", 25}, {"c", 25}, {"de", 30}, {"f", 30}} {
		if want.text == "de" {
			now.Store(30)
			next <- struct{}{}
		}
		n, came, err := c.ReadBody(buf)
		if string(buf[:n]) != want.text || came.At != want.at || err != nil {
			t.Errorf("%q, %+v, %v; want %+v", buf[:n], came, err, want)
		}
	}
}

func TestSendOfAnySize(t *testing.T) {
	for _, size := range []int{0, lastWrite, 5*lastWrite + 7} {
		got := make(chan int64, 1)
		p := serve(t, func(c net.Conn, br *bufio.Reader) {
			req, err := http.ReadRequest(br)
			if err != nil {
				return
			}
			n, _ := io.Copy(io.Discard, req.Body)
			got <- n
			io.WriteString(c, hello)
		})
		c := get(t, p)
		body := []byte(strings.Repeat("x", size))
		if _, err := c.Send(p.AppendRequest(nil, "POST", "/", nil, body)); err != nil {
			t.Fatal(err)
		}
		if _, _, err := readAll(c); err != nil {
			t.Fatal(err)
		}
		if n := <-got; n != int64(size) {
			t.Errorf("%d bytes of %d came", n, size)
		}
	}
}

func TestContextInterrupts(t *testing.T) {
	why := errors.New("enough")
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	for name, blocked := range map[string]func(p *Pool, c *Conn) error{
		"header": func(_ *Pool, c *Conn) error {
			_, _, err := c.ReadHeader()
			return err
		},
		"body": func(_ *Pool, c *Conn) error {
			c.body = body{state: chunkSize}
			_, _, err := c.ReadBody(make([]byte, 10))
			return err
		},
		"send": func(_ *Pool, c *Conn) error {
			for {
				if _, err := c.Send(make([]byte, 1<<20)); err != nil {
					return err
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := serve(t, func(net.Conn, *bufio.Reader) { <-hang })
			ctx, cancel := context.WithCancelCause(testContext(t))
			c, err := p.Get(ctx)
			if err != nil {
				t.Fatal(err)
			}
			failed := make(chan error, 1)
			go func() { failed <- blocked(p, c) }()
			cancel(why)
			if err := <-failed; !errors.Is(err, why) {
				t.Errorf("got %v, want the context's cause", err)
			}
			p.Put(c)
			if len(p.idle) != 0 {
				t.Error("an interrupted connection was kept")
			}
			if _, err := p.Get(ctx); !errors.Is(err, why) {
				t.Errorf("Get with a context that is done: %v", err)
			}
		})
	}
}

func TestTLS(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.Proto)
	}))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0) // of the handshake that must fail
	srv.StartTLS()
	t.Cleanup(srv.Close)
	target, err := ParseTarget(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	var unknown x509.UnknownAuthorityError
	if _, err := newPool(t, Config{Target: target}).Get(testContext(t)); !errors.As(err, &unknown) {
		t.Errorf("a server that nobody vouches for: %v", err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	p := newPool(t, Config{Target: target, TLS: &tls.Config{RootCAs: roots}})
	for range 3 {
		c := get(t, p)
		send(t, p, c)
		if _, text, err := readAll(c); text != "HTTP/1.1" || err != nil {
			t.Errorf("%q, %v", text, err)
		}
		p.Put(c)
	}
	if s := dialled(p); s != (Stats{Dials: 1, Reuses: 2}) {
		t.Errorf("%+v", s)
	}
}

func TestIPv6(t *testing.T) {
	l, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skip("no IPv6 here:", err)
	}
	t.Cleanup(func() { l.Close() })
	go http.Serve(l, http.NotFoundHandler())
	target, err := ParseTarget("http://" + l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	p := newPool(t, Config{Target: target})
	c := get(t, p)
	send(t, p, c)
	if status, _, err := readAll(c); status != 404 || err != nil {
		t.Errorf("%d, %v", status, err)
	}
}

// slowWire is a stream on whose clock every write takes ten.
type slowWire struct {
	net.Conn
	now     *atomic.Int64
	written []int
}

func (s *slowWire) Write(p []byte) (int, error) {
	s.now.Add(10)
	s.written = append(s.written, len(p))
	return len(p), nil
}

// A request is sent when its last byte is about to be: what the server is slow
// to take before that is no latency of its answer.
func TestSentIsJustBeforeTheLastWrite(t *testing.T) {
	for _, size := range []int{1, lastWrite, lastWrite + 1, 5*lastWrite + 7} {
		var now atomic.Int64
		now.Store(100)
		s := &slowWire{now: &now}
		socket, err := newSocket(s, &stamps{now: now.Load}, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		sent, err := newConn(s, socket, now.Load).Send(make([]byte, size))
		if want := int64(100 + 10*(len(s.written)-1)); err != nil || sent != want || now.Load() != want+10 {
			t.Errorf("%d bytes in writes of %v: sent at %d, want %d; %v", size, s.written, sent, want, err)
		}
	}
}
