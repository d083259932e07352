package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"

	"llmsim-bench/bench/openai"
	"llmsim-bench/bench/record"
	"llmsim-bench/bench/transport"
)

// maxErrorBody bounds what is read of the body of an answer that is no success.
const maxErrorBody = 64 << 10

var kinds = map[openai.Verdict]string{
	openai.Empty:       record.KindEmpty,
	openai.Truncated:   record.KindTruncated,
	openai.ServerError: record.KindErrorInStream,
	openai.Malformed:   record.KindProtocol,
}

// refused reads the body of an answer that is no success. Whatever happens to
// the body, it is the status that says what failed.
func (a *attempt) refused(conn *transport.Conn) {
	rec := a.rec
	var body []byte
	var err error
	for err == nil && len(body) < maxErrorBody {
		var n int
		n, _, err = conn.ReadBody(a.scratch.read[:])
		body = append(body, a.scratch.read[:n]...)
	}
	a.Pool.Put(conn)
	rec.End = a.now()
	rec.Outcome = record.Failed
	switch {
	case rec.Status == fasthttp.StatusTooManyRequests:
		rec.Kind = record.KindRateLimited
	case rec.Status >= 500:
		rec.Kind = record.KindHTTP5xx
	case rec.Status >= 400:
		rec.Kind = record.KindHTTP4xx
	default: // a redirection, which nobody follows here
		rec.Kind = record.KindProtocol
	}
	rec.Error = openai.ErrorMessage(body)
	if rec.Error == "" {
		rec.Error = fmt.Sprintf("status %d without a message", rec.Status)
	}
}

// fail books a failure at the present moment: what ended ctx, if that is over,
// else one of the given kind.
func (a *attempt) fail(ctx context.Context, kind string, err error) {
	rec := a.rec
	rec.End = a.now()
	rec.Outcome, rec.Kind, rec.Error = record.Failed, kind, openai.ErrorMessage([]byte(err.Error()))
	if ctx.Err() == nil {
		return
	}
	var cut *cutOff
	if errors.As(context.Cause(ctx), &cut) {
		rec.Outcome, rec.Kind, rec.Error = cut.outcome, cut.kind, cut.message
		return
	}
	rec.Outcome, rec.Kind, rec.Error = record.Cancelled, "", ""
}

// kindOf tells how a connection failed.
func kindOf(err error) string {
	var network net.Error
	switch {
	case errors.Is(err, transport.ErrProtocol):
		return record.KindProtocol
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return record.KindTruncated
	case errors.As(err, &network):
		return record.KindReset
	}
	return record.KindProtocol // TLS found the bytes wrong
}

// retryAfter returns the Retry-After header in seconds, nil if there is none that
// can be read. A date counts from the answer's own, so that the two clocks need
// not agree; one that has passed is 0.
func retryAfter(h *fasthttp.ResponseHeader) *float64 {
	value := strings.TrimSpace(string(h.Peek("Retry-After")))
	if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		if seconds >= 0 && seconds < 1e9 {
			return &seconds
		}
		return nil
	}
	until, err := fasthttp.ParseHTTPDate([]byte(value))
	if err != nil {
		return nil
	}
	from, err := fasthttp.ParseHTTPDate(h.Peek("Date"))
	if err != nil {
		return nil
	}
	return new(max(until.Sub(from).Seconds(), 0))
}
