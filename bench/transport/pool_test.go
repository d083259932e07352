package transport

import (
	"bufio"
	"io"
	"net"
	"sync/atomic"
	"testing"
)

func TestReuse(t *testing.T) {
	p := serve(t, answers(hello, hello, hello))
	for i := range 3 {
		c := get(t, p)
		send(t, p, c)
		if c.Reused() != (i > 0) {
			t.Errorf("request %d: reused %v", i, c.Reused())
		}
		if _, text, err := readAll(c); text != "hello" || err != nil {
			t.Fatalf("%q, %v", text, err)
		}
		p.Put(c)
	}
	if s := dialled(p); s != (Stats{Dials: 1, Reuses: 2}) {
		t.Errorf("%+v", s)
	}
}

func TestConnectionCloseIsNotReused(t *testing.T) {
	p := serve(t, answers("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello"))
	c := get(t, p)
	send(t, p, c)
	if _, _, err := readAll(c); err != nil {
		t.Fatal(err)
	}
	p.Put(c)
	if len(p.idle) != 0 {
		t.Error("kept although the server closes it")
	}
}

// The peer closes an idle connection, or says something nobody asked for.
func TestStaleIsNotReused(t *testing.T) {
	for name, parting := range map[string]string{"closed": "", "speaking": "HTTP/1.1 408 Request Timeout\r\n\r\n"} {
		t.Run(name, func(t *testing.T) {
			part, parted := make(chan struct{}), make(chan struct{})
			p := serve(t, func(c net.Conn, br *bufio.Reader) {
				awaitRequest(br)
				io.WriteString(c, hello)
				if _, open := <-part; open {
					io.WriteString(c, parting)
					if parting != "" {
						<-parted
					}
				}
			})
			c := get(t, p)
			send(t, p, c)
			if _, _, err := readAll(c); err != nil {
				t.Fatal(err)
			}
			p.Put(c)
			part <- struct{}{}
			until(t, "the end of the idle connection", func() bool { return c.readiness() == unusable })
			again := get(t, p)
			if again == c {
				t.Error("the connection was reused")
			}
			close(parted)
			close(part)
			if s := dialled(p); s != (Stats{Dials: 2, Stale: 1}) {
				t.Errorf("%+v", s)
			}
		})
	}
}

// A caller that had enough of a body gives the connection back at once; it
// serves again once the body's end has come, and never before.
func TestTailOfABody(t *testing.T) {
	rest := make(chan string)
	p := serve(t, func(c net.Conn, br *bufio.Reader) {
		if !awaitRequest(br) {
			return
		}
		io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
		for part := range rest {
			io.WriteString(c, part)
			awaitRequest(br)
			io.WriteString(c, hello)
		}
	})
	var now atomic.Int64
	setClock(p, now.Load)
	c := get(t, p)
	send(t, p, c)
	if _, _, err := c.ReadHeader(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.ReadBody(make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	p.Put(c)
	second := get(t, p)
	if second == c {
		t.Fatal("reused before the end of its body")
	}
	second.Close()
	rest <- "3\r\nbye\r\n0\r\n\r\n"
	until(t, "the end of the body", func() bool { return c.readiness() == ready })
	if third := get(t, p); third != c {
		t.Error("not reused after the end of its body")
	}
	send(t, p, c)
	if _, text, err := readAll(c); text != "hello" || err != nil {
		t.Errorf("the next answer is %q, %v", text, err)
	}
	close(rest)
}

func TestTailThatNeverComes(t *testing.T) {
	p := serve(t, answers("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"))
	var now atomic.Int64
	setClock(p, now.Load)
	c := get(t, p)
	send(t, p, c)
	if _, _, err := c.ReadHeader(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.ReadBody(make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	p.Put(c)
	now.Store(int64(tailGrace))
	get(t, p)
	if s := dialled(p); s != (Stats{Dials: 2, Stale: 1}) || len(p.idle) != 0 {
		t.Errorf("%+v, %d idle", s, len(p.idle))
	}
}

func TestConnectRefused(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	p := newPool(t, Config{Target: Target{Address: l.Addr().String()}})
	if _, err := p.Get(testContext(t)); err == nil {
		t.Error("connected to nobody")
	}
}

func TestClose(t *testing.T) {
	p := serve(t, answers(hello))
	idle, busy := get(t, p), get(t, p)
	p.Put(idle)
	p.Close()
	p.Put(busy)
	for _, c := range []*Conn{idle, busy} {
		if _, err := c.socket.Write([]byte("x")); err == nil {
			t.Error("a connection outlives its pool")
		}
	}
}
