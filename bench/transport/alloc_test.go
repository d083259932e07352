package transport

import (
	"bufio"
	"io"
	"net"
	"testing"
)

// asked is a server that writes a chunk for each byte it gets after its request.
func asked(t *testing.T, mode Timestamps) *Conn {
	p := serve(t, func(c net.Conn, br *bufio.Reader) {
		awaitRequest(br)
		io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
		chunk := []byte("5\r\nhello\r\n")
		for {
			if _, err := br.ReadByte(); err != nil {
				return
			}
			if _, err := c.Write(chunk); err != nil {
				return
			}
		}
	})
	p.cfg.Timestamps = mode
	c := get(t, p)
	send(t, p, c)
	if _, _, err := c.ReadHeader(); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestReadBodyDoesNotAllocate(t *testing.T) {
	for _, mode := range []Timestamps{TimestampsAuto, TimestampsUser} {
		c := asked(t, mode)
		var buf [100]byte
		order := []byte("x")
		allocs := testing.AllocsPerRun(500, func() {
			if _, err := c.socket.Write(order); err != nil {
				t.Fatal(err)
			}
			if n, _, err := c.ReadBody(buf[:]); n != 5 || err != nil {
				t.Fatal(n, err)
			}
		})
		if allocs != 0 {
			t.Errorf("%v: %v allocations a read", mode, allocs)
		}
	}
}
