package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/valyala/fasthttp"

	"llmsim-bench/bench/transport"
)

// Bounds of an exchange outside of any load.
const (
	exchangeTimeout = 30 * time.Second
	maxExchangeBody = 16 << 20
)

// exchanged is a whole answer outside of any load, with when its parts came.
type exchanged struct {
	header fasthttp.ResponseHeader
	body   []byte
	reused bool // on a connection that had served a request before

	sent, headerAt, bodyAt int64 // readings of the clock; bodyAt: its first byte
}

// patience is how long one request outside of any load may take.
func (r *runner) patience() time.Duration {
	if limit := r.config.Timeouts.Total; limit > 0 {
		return min(limit, exchangeTimeout)
	}
	return exchangeTimeout
}

// get reads a small document from the server.
func (r *runner) get(ctx context.Context, path string) (*exchanged, error) {
	return r.exchange(ctx, "GET", path, nil, nil)
}

// exchange makes one request with the API's own headers and others.
func (r *runner) exchange(ctx context.Context, method, path string, headers []transport.Header, body []byte) (*exchanged, error) {
	limit := r.patience()
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer after %v", limit))
	defer cancel()
	conn, err := r.pool.Get(ctx)
	if err != nil {
		return nil, err
	}
	defer r.pool.Put(conn)
	all := make([]transport.Header, 0, len(headers)+2)
	for _, h := range r.config.API.Headers(r.config.APIKey) {
		all = append(all, transport.Header(h))
	}
	got := &exchanged{reused: conn.Reused()}
	if got.sent, err = conn.Send(r.pool.AppendRequest(nil, method, path, append(all, headers...), body)); err != nil {
		return nil, err
	}
	header, at, err := conn.ReadHeader()
	if err != nil {
		return nil, err
	}
	got.headerAt = at
	header.CopyTo(&got.header)
	buf := make([]byte, 16<<10)
	for err == nil && len(got.body) < maxExchangeBody {
		var n int
		var came transport.Received
		n, came, err = conn.ReadBody(buf)
		if n > 0 && len(got.body) == 0 {
			got.bodyAt = came.At
		}
		got.body = append(got.body, buf[:n]...)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return got, nil
}
