package transport

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/valyala/fasthttp"
)

const (
	// readBuffer is what a connection reads at once; it grows to maxHeader for a
	// header block that needs it, so that thousands of connections stay small.
	readBuffer = 8 << 10
	// maxHeader bounds a response's header block, and a chunked body's trailer.
	maxHeader = 64 << 10
	// lastWrite bounds the write before which a request's instant is taken.
	lastWrite = 64 << 10
)

// ErrProtocol is in the error of an answer that is no HTTP/1.x.
var ErrProtocol = errors.New("not HTTP/1.1")

// longAgo is a deadline that has passed.
var longAgo = time.Unix(1, 0)

// Conn is a connection that serves one request at a time: Send, ReadHeader, then
// ReadBody until it fails, by io.EOF at the body's end. It is for one goroutine.
type Conn struct {
	stream net.Conn // TLS where there is TLS
	socket *socket  // below it
	in     rereader
	br     *bufio.Reader
	now    func() int64
	header fasthttp.ResponseHeader
	body   body

	ctx       context.Context
	release   func() bool // ends ctx's hold; false if it struck first
	served    bool        // it had sent a request before it was handed out
	sent      bool        // it has sent a request
	broken    bool        // an error or the server's word rules out another request
	idleSince int64
}

// rereader is a stream of which the last bytes can be read once more.
type rereader struct {
	stream net.Conn
	unread []byte // to be read again first
}

func (r *rereader) Read(p []byte) (int, error) {
	if len(r.unread) > 0 {
		n := copy(p, r.unread)
		r.unread = r.unread[n:]
		return n, nil
	}
	return r.stream.Read(p)
}

func newConn(stream net.Conn, socket *socket, now func() int64) *Conn {
	socket.answers = true
	c := &Conn{stream: stream, socket: socket, now: now, in: rereader{stream: stream}}
	c.br = bufio.NewReaderSize(&c.in, readBuffer)
	return c
}

// bind lets ctx interrupt the connection until unbind.
func (c *Conn) bind(ctx context.Context) {
	c.ctx, c.served = ctx, c.sent
	c.release = context.AfterFunc(ctx, func() {
		// It fails only on a closed connection, which blocks nobody.
		_ = c.socket.SetDeadline(longAgo)
	})
}

// unbind ends what bind began. It returns false if ctx was done before: then the
// connection is as good as closed.
func (c *Conn) unbind() bool { return c.release() }

// Reused reports whether the connection had served a request before Get handed
// it out.
func (c *Conn) Reused() bool { return c.served }

// Close closes the connection, now and for all.
func (c *Conn) Close() {
	if c.release != nil {
		c.release()
	}
	c.broken = true
	// The socket: a TLS farewell could block on a peer that does not read.
	_ = c.socket.Close()
}

// Send writes a whole request, as AppendRequest makes it, and returns the
// instant just before the write that carries its last byte.
func (c *Conn) Send(request []byte) (sent int64, err error) {
	c.sent = true
	c.body = body{state: bodyUnread}
	sent = c.now()
	c.socket.lookout.empty = sent // nothing of the answer can have come
	for len(request) > lastWrite {
		if _, err := c.stream.Write(request[:lastWrite]); err != nil {
			return 0, c.failed(fmt.Errorf("send request: %w", err))
		}
		request = request[lastWrite:]
		sent = c.now()
	}
	if _, err := c.stream.Write(request); err != nil {
		return sent, c.failed(fmt.Errorf("send request: %w", err))
	}
	return sent, nil
}

// ReadHeader reads the answer's header, passing over informational (1xx) ones.
// The header is valid until the next call; at is when its status line had come.
// io.ErrUnexpectedEOF means that the connection ended first.
func (c *Conn) ReadHeader() (h *fasthttp.ResponseHeader, at int64, err error) {
	for {
		if at, err = c.awaitLine(); err != nil {
			return nil, at, c.failed(fmt.Errorf("read response header: %w", err))
		}
		if err := c.parseHeader(); err != nil {
			return nil, at, c.failed(fmt.Errorf("read response header: %w", err))
		}
		if status := c.header.StatusCode(); status >= 200 {
			break
		} else if status == fasthttp.StatusSwitchingProtocols {
			return nil, at, c.failed(fmt.Errorf("%w: the server switches protocols unasked", ErrProtocol))
		}
	}
	if c.header.ConnectionClose() {
		c.broken = true
	}
	c.body = newBody(&c.header)
	return &c.header, at, nil
}

// awaitLine waits for a whole line and returns when it had come.
func (c *Conn) awaitLine() (at int64, err error) {
	_, err = peekLine(c.br)
	return c.socket.came.At, err
}

// parseHeader reads one header block, in a larger buffer if it needs one.
func (c *Conn) parseHeader() error {
	err := c.header.Read(c.br)
	var small *fasthttp.ErrSmallBuffer
	if errors.As(err, &small) && c.br.Size() < maxHeader {
		buffered, _ := c.br.Peek(c.br.Buffered())
		c.in.unread = buffered
		c.br = bufio.NewReaderSize(&c.in, maxHeader)
		err = c.header.Read(c.br)
	}
	var network net.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &network):
		return err
	case errors.As(err, &small):
		return fmt.Errorf("%w: the header is longer than %d bytes", ErrProtocol, maxHeader)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return io.ErrUnexpectedEOF
	}
	return fmt.Errorf("%w: %w", ErrProtocol, err)
}

// ReadBody reads what has come of the body into buf, or waits for more of it,
// and returns when it came. io.EOF means that the body ended as its framing says,
// at the instant returned; io.ErrUnexpectedEOF that it was cut.
func (c *Conn) ReadBody(buf []byte) (n int, came Received, err error) {
	n, err = c.body.read(c.br, buf)
	if err != nil && !errors.Is(err, io.EOF) {
		err = c.failed(fmt.Errorf("read response body: %w", err))
	}
	return n, c.socket.came, err
}

// failed rules out another request and names what is behind an error: the end of
// the context, where that interrupted the connection.
func (c *Conn) failed(err error) error {
	c.broken = true
	if c.ctx != nil && c.ctx.Err() != nil {
		return context.Cause(c.ctx)
	}
	return err
}
