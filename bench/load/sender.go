package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"llmsim-bench/bench/openai"
	"llmsim-bench/bench/record"
	"llmsim-bench/bench/transport"
	"llmsim-bench/internal/wire"
)

// maxErrorBody bounds what is read of the body of an answer that is no success.
const maxErrorBody = 64 << 10

// errTimeout is the cause of a request's context that ran out of time.
var errTimeout = errors.New("timeout")

// Sender performs requests: its Prepare and Send are made for Options.Prepare
// and Options.Do. It is safe for concurrent use; the fields are not to be
// changed while it is in use.
type Sender struct {
	Pool  *transport.Pool
	Clock Clock
	// Path is the path of the endpoint, such as "/v1/chat/completions".
	Path       string
	Model      string
	Extensions openai.Extensions
	// APIKey goes as a bearer token; empty sends none.
	APIKey string
	// Timeout bounds one request, from Send to its end; 0 is no limit.
	Timeout time.Duration
	// Simulator says that the server is the bundled simulator, which is told each
	// request's phase, "<Run>/<phase>", and asked for its own account of the times.
	Simulator bool
	// Run names this run in the phases told to the simulator.
	Run string

	scratch sync.Pool // of *scratch
}

// scratch is what one request needs while it runs.
type scratch struct {
	request []byte
	read    [16 << 10]byte
	answer  openai.Answer
}

// Prepare makes the body of a job's request, so that Send need not.
func (s *Sender) Prepare(job *Job) {
	r := openai.Request{
		Model: s.Model, Prompt: string(job.Prompt), MaxTokens: job.OutputTokens,
		Stream: true, Extensions: s.Extensions,
	}
	job.Body = openai.Chat.AppendBody(nil, &r)
}

// Send performs one request and fills rec from Conn on: its instants, outcome
// and what the answer says. End is always set: to the answer's end, or to when
// the request failed.
func (s *Sender) Send(ctx context.Context, job *Job, rec *record.Request) {
	if s.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, s.Timeout, errTimeout)
		defer cancel()
	}
	w, _ := s.scratch.Get().(*scratch)
	if w == nil {
		w = &scratch{}
	}
	defer s.scratch.Put(w)
	if job.Body == nil {
		s.Prepare(job)
	}
	w.request = s.Pool.Target().AppendRequest(w.request[:0], "POST", s.Path, s.headers(job), job.Body)

	conn, err := s.Pool.Get(ctx)
	if err != nil {
		s.fail(ctx, rec, record.KindConnect, err)
		return
	}
	rec.Conn = s.now()
	rec.Reused = conn.Reused()
	sent, err := conn.Send(w.request)
	if err != nil {
		conn.Close()
		s.fail(ctx, rec, kindOf(err), err)
		return
	}
	rec.Sent = record.Instant(sent)
	header, at, err := conn.ReadHeader()
	if err != nil {
		conn.Close()
		s.fail(ctx, rec, kindOf(err), err)
		return
	}
	rec.Header = record.Instant(at)
	rec.Status = header.StatusCode()
	rec.RetryAfter = retryAfter(header)
	if rec.Status < 200 || rec.Status > 299 {
		s.refused(conn, w, rec)
		return
	}
	w.answer.Reset(openai.Chat, s.Extensions.ExactTokens(job.OutputTokens))
	s.answered(ctx, conn, string(header.ContentType()), w, rec)
}

func (s *Sender) now() record.Instant { return record.Instant(s.Clock.Now()) }

func (s *Sender) headers(job *Job) []transport.Header {
	headers := make([]transport.Header, 0, 3)
	if s.APIKey != "" {
		headers = append(headers, transport.Header{Name: "Authorization", Value: "Bearer " + s.APIKey})
	}
	if s.Simulator {
		headers = append(headers,
			transport.Header{Name: wire.HeaderPhase, Value: s.Run + "/" + job.Phase},
			transport.Header{Name: wire.HeaderTiming, Value: "1"})
	}
	return headers
}

// answered reads the body of a success and tells what it comes to.
func (s *Sender) answered(ctx context.Context, conn *transport.Conn, contentType string, w *scratch, rec *record.Request) {
	var end int64
	var err error
	for over := false; !over && err == nil; {
		var n int
		var came transport.Received
		n, came, err = conn.ReadBody(w.read[:])
		end = came.At
		if n > 0 {
			over = w.answer.Feed(w.read[:n], openai.Received(came))
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		end = s.Clock.Now() // of the failure, which the last bytes may long precede
	}
	result := w.answer.Finish(end, err != nil && !errors.Is(err, io.EOF), contentType)
	s.Pool.Put(conn)
	fill(rec, &result)
	switch result.Verdict {
	case openai.Complete:
		rec.Outcome = record.OK
		return
	case openai.Truncated:
		if err != nil && !errors.Is(err, io.EOF) {
			s.fail(ctx, rec, kindOf(err), err)
			return
		}
	}
	rec.Outcome, rec.Kind, rec.Error = record.Failed, kinds[result.Verdict], result.Message
}

var kinds = map[openai.Verdict]string{
	openai.Empty:       record.KindEmpty,
	openai.Truncated:   record.KindTruncated,
	openai.ServerError: record.KindErrorInStream,
	openai.Malformed:   record.KindProtocol,
}

// fill copies what the answer says.
func fill(rec *record.Request, r *openai.Result) {
	instant := func(at int64) record.Instant {
		if at == openai.Never {
			return record.Unset
		}
		return record.Instant(at)
	}
	rec.First, rec.Out = instant(r.First), instant(r.Out)
	rec.Last, rec.End = instant(r.Last), instant(r.End)
	rec.PromptTokens, rec.CachedTokens, rec.OutputTokens = r.PromptTokens, r.CachedTokens, r.OutputTokens
	rec.TokensEstimated, rec.Timing = r.Estimated, r.Timing
	if r.FromUsage {
		rec.OutputTokensFrom = record.FromUsage
	} else if r.OutputTokens > 0 {
		rec.OutputTokensFrom = record.FromEvents
	}
	for _, ev := range r.Tokens {
		rec.Events = append(rec.Events, record.Event{At: record.Instant(ev.At), Tokens: ev.Tokens})
	}
	for _, flag := range []struct {
		name string
		set  bool
	}{
		{record.FlagShortOutput, r.ShortOutput},
		{record.FlagTokenMismatch, r.TokenMismatch},
		{record.FlagClumped, r.Clumped},
		{record.FlagNotStreamed, r.NotStreamed},
	} {
		if flag.set {
			rec.Flags = append(rec.Flags, flag.name)
		}
	}
}

// refused reads the body of an answer that is no success. Whatever happens to
// the body, it is the status that says what failed.
func (s *Sender) refused(conn *transport.Conn, w *scratch, rec *record.Request) {
	var body []byte
	var err error
	for err == nil && len(body) < maxErrorBody {
		var n int
		n, _, err = conn.ReadBody(w.read[:])
		body = append(body, w.read[:n]...)
	}
	s.Pool.Put(conn)
	rec.End = s.now()
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

// fail books a failure at the present moment: a cancellation or a timeout, if
// that is what ended ctx, else one of the given kind.
func (s *Sender) fail(ctx context.Context, rec *record.Request, kind string, err error) {
	rec.End = s.now()
	rec.Outcome, rec.Kind, rec.Error = record.Failed, kind, openai.ErrorMessage([]byte(err.Error()))
	switch {
	case ctx.Err() == nil:
	case errors.Is(context.Cause(ctx), errTimeout):
		rec.Kind, rec.Error = record.KindTimeout, fmt.Sprintf("no end after %v", s.Timeout)
	default:
		rec.Outcome, rec.Kind, rec.Error = record.Cancelled, "", ""
	}
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

// retryAfter returns the Retry-After header in seconds, 0 if there is none. A
// date counts from the answer's own, so that the two clocks need not agree.
func retryAfter(h *fasthttp.ResponseHeader) float64 {
	value := strings.TrimSpace(string(h.Peek("Retry-After")))
	if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		if seconds > 0 && seconds < 1e9 {
			return seconds
		}
		return 0
	}
	until, err := fasthttp.ParseHTTPDate([]byte(value))
	if err != nil {
		return 0
	}
	from, err := fasthttp.ParseHTTPDate(h.Peek("Date"))
	if err != nil {
		return 0
	}
	return max(until.Sub(from).Seconds(), 0)
}
