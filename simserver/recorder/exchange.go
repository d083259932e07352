package recorder

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"llmsim-bench/simserver/recording"
)

// exchange is one that is being recorded. All but one moment comes from the
// proxy's goroutine.
type exchange struct {
	recorder *Recorder
	client   context.Context // over when the client has left
	context  context.Context // and when upstream was silent for too long
	silence  *time.Timer

	began  time.Time
	file   recording.Exchange
	head   time.Time
	pieces []piece
	size   int
	whole  bool  // the end of the answer was read
	cause  error // why it broke

	mu      sync.Mutex // guards what the transport's goroutine tells
	written time.Time  // the last byte of the request; zero: not yet
}

// piece is what one read of the answer brought.
type piece struct {
	at   time.Time
	data []byte
}

// exchangeKey finds the exchange in a request's context.
type exchangeKey struct{}

func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// errSilent is why an exchange with a silent upstream is given up.
var errSilent = errors.New("the recorded server said nothing for too long")

// record proxies one chat completion and writes its file.
func (r *Recorder) record(w http.ResponseWriter, q *http.Request) {
	if !r.enter() {
		answerError(w, http.StatusServiceUnavailable, "draining", "the recorder is stopping")
		return
	}
	defer r.running.Done()
	body, err := io.ReadAll(http.MaxBytesReader(w, q.Body, int64(r.options.MaxBodyBytes)))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		answerError(w, http.StatusRequestEntityTooLarge, "request_too_large",
			fmt.Sprintf("the body is larger than the limit of %d bytes", r.options.MaxBodyBytes))
		return
	case err != nil:
		answerError(w, http.StatusBadRequest, "unreadable_body", "the body could not be read: "+err.Error())
		return
	}
	x := &exchange{recorder: r, client: q.Context(), began: time.Now()}
	ctx, giveUp := context.WithCancelCause(context.WithValue(q.Context(), exchangeKey{}, x))
	defer giveUp(nil)
	x.context = ctx
	x.silence = time.AfterFunc(r.options.Silence, func() { giveUp(errSilent) })
	defer x.silence.Stop()
	x.begin(q, body)
	q = q.WithContext(ctx)
	q.GetBody = func() (io.ReadCloser, error) { return &sentBody{bytes.NewReader(body), x}, nil }
	q.Body, _ = q.GetBody() // which does not fail
	q.ContentLength, q.TransferEncoding = int64(len(body)), nil
	defer x.end() // also where the proxy panics, which is how it cuts an answer
	r.proxy.ServeHTTP(w, q)
}

// begin notes what is asked.
func (x *exchange) begin(q *http.Request, body []byte) {
	id := make([]byte, 4)
	_, _ = rand.Read(id) // never fails
	base := *x.recorder.upstream
	base.RawQuery = ""
	x.file = recording.Exchange{
		ID: hex.EncodeToString(id), Started: x.began, Upstream: base.String(),
		Request: recording.Request{Method: q.Method, Body: body, BodyBytes: len(body)},
	}
}

// sent notes the request as it goes upstream.
func (x *exchange) sent(q *http.Request) {
	x.file.Request.Path = q.URL.RequestURI()
	x.file.Request.Headers = q.Header.Clone()
}

// sentBody is the request's body on its way upstream. The moment at which its last
// byte is taken comes before all that the server can answer to it; the transport's
// own word that it has written the request may come after.
type sentBody struct {
	left     *bytes.Reader
	exchange *exchange
}

// Read implements io.Reader.
func (s *sentBody) Read(p []byte) (int, error) {
	n, err := s.left.Read(p)
	if n > 0 && s.left.Len() == 0 {
		s.exchange.wrote(time.Now())
	}
	return n, err
}

// Close implements io.Closer.
func (s *sentBody) Close() error { return nil }

func (x *exchange) wrote(at time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.written = at
}

// keepResponse begins to keep an answer.
func keepResponse(r *http.Response) error {
	x := exchangeOf(r.Request.Context())
	if x == nil || r.StatusCode == http.StatusSwitchingProtocols {
		return nil
	}
	x.head = time.Now()
	x.silence.Reset(x.recorder.options.Silence)
	x.file.Response = &recording.Response{Status: r.StatusCode, Headers: r.Header.Clone()}
	r.Body = &keptBody{r.Body, x}
	return nil
}

// keptBody keeps what is read.
type keptBody struct {
	io.ReadCloser
	exchange *exchange
}

// Read implements io.Reader.
func (k *keptBody) Read(p []byte) (int, error) {
	n, err := k.ReadCloser.Read(p)
	k.exchange.read(p[:n], err)
	return n, err
}

// read notes what one read of the answer brought.
func (x *exchange) read(data []byte, err error) {
	at := time.Now()
	x.silence.Reset(x.recorder.options.Silence)
	x.size += len(data)
	if len(data) > 0 && !x.tooLarge() {
		x.pieces = append(x.pieces, piece{at, bytes.Clone(data)})
	}
	switch {
	case err == io.EOF:
		x.whole = true
	case err != nil:
		x.cause = err
	}
}

// tooLarge says that the answer is longer than what may be kept.
func (x *exchange) tooLarge() bool { return x.size > x.recorder.options.MaxResponseBytes }

// end writes the file.
func (x *exchange) end() {
	ended := time.Now()
	x.mu.Lock()
	since := x.written
	x.mu.Unlock()
	if since.IsZero() {
		since = x.began
	}
	after := func(at time.Time) int64 { return max(0, int64(at.Sub(since))) }
	e := &x.file
	reason := x.reason()
	e.End = recording.End{Complete: reason == "", Reason: reason, AtNS: after(ended)}
	if e.Response != nil {
		e.Response.HeadNS = after(x.head)
		for _, p := range x.pieces {
			e.Response.Segments = append(e.Response.Segments, recording.Segment{AtNS: after(p.at), Data: p.data})
		}
	}
	if err := e.WriteAs(x.recorder.fileName); err != nil {
		x.recorder.options.Failed(fmt.Errorf("write the recording of exchange %s: %w", e.ID, err))
	}
}

// reason says why the exchange is not complete; empty: it is.
func (x *exchange) reason() string {
	switch {
	case x.tooLarge():
		return fmt.Sprintf("the answer has more than %d bytes", x.recorder.options.MaxResponseBytes)
	case x.whole:
		return ""
	case x.client.Err() != nil:
		return "the client left, or the recorder stopped"
	case errors.Is(context.Cause(x.context), errSilent):
		return errSilent.Error()
	case x.cause != nil && x.file.Response == nil:
		return "the recorded server did not answer: " + x.cause.Error()
	case x.cause != nil:
		return "the recorded server's answer broke off: " + x.cause.Error()
	}
	return "the client took no more"
}
