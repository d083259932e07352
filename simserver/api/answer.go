package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"slices"
	"time"

	"github.com/valyala/fasthttp"

	"llmsim-bench/internal/wire"
	"llmsim-bench/simserver/conn"
	"llmsim-bench/simserver/engine"
	"llmsim-bench/simserver/llm"
	"llmsim-bench/simserver/metrics"
	"llmsim-bench/simserver/plan"
)

// Why a request did not complete, as /metrics/summary counts it.
const (
	abortClientGone = "client_closed"
	abortSlowReader = "slow_reader"
	abortDrain      = "drain"
)

// answer carries one accepted request to its end on a connection. It is the
// engine's Outlet: Prepare and Release run on the engine's thread, everything
// else on the connection's goroutine.
type answer struct {
	server  *Server
	model   *Model
	peer    *peer
	metrics *metrics.Request
	request engine.Request

	order      *order
	head       chunk // what every event of this answer starts with
	usage      usage
	wantTiming bool
	keepAlive  bool
	framing    framing

	renderers []*choiceRenderer // of a stream
	text      []byte            // of an answer that is sent whole, up to its usage
	prepared  []byte
	prepares  int // tokens rendered so far

	done bool
	err  error // why the engine ended it early
}

// run answers on the connection and reports whether it can take another request.
func (a *answer) run() bool {
	if a.order.streamed {
		if _, err := a.peer.Send(a.streamHead()); err != nil {
			a.abandon(err)
			return false
		}
	}
	a.model.Engine.Submit(&a.request)
	a.peer.LookedAt()
	gone := a.peer.Watch()
	if gone != nil {
		a.model.Engine.Abort(&a.request)
		if !a.done {
			a.end(a.server.abortReason(gone))
			return false
		}
	}
	if a.err != nil {
		a.end(a.server.abortReason(a.err))
		return false
	}
	// Whoever has read the end of an answer finds it in the metrics: it is
	// counted before the end is sent, unless tokens still wait for their reader.
	if a.peer.Drained() {
		a.end("")
	}
	if err := a.finish(); err != nil {
		a.end(a.server.abortReason(err))
		return false
	}
	a.end("")
	return a.keepAlive && gone == nil
}

// abandon ends an accepted request that can't be submitted.
func (a *answer) abandon(err error) {
	a.model.Engine.Abort(&a.request)
	a.end(a.server.abortReason(err))
}

// finish sends what follows the last token and waits until the reader has taken
// everything.
func (a *answer) finish() error {
	if a.order.streamed {
		if _, err := a.peer.Send(a.tail()); err != nil {
			return err
		}
	}
	return a.peer.Flush(a.server.config.SlowReaderTimeout)
}

// end hands the request's account to the metrics; only the first call counts.
func (a *answer) end(aborted string) {
	outcome := metrics.Outcome{Aborted: aborted, Arrival: a.request.Arrival, Streamed: a.order.streamed, Queue: a.request.Queue, QueueServer: a.request.QueueServer}
	for _, t := range a.request.Timelines {
		outcome.Choices = append(outcome.Choices, metrics.Timeline{
			Due: t.Due, Released: t.Released, Backpressured: t.Backpressured,
		})
	}
	a.metrics.End(outcome)
}

// abortReason names a failure of the connection.
func abortReason(err error) string {
	if errors.Is(err, conn.ErrSlowReader) || errors.Is(err, engine.ErrSlowReader) || errors.Is(err, os.ErrDeadlineExceeded) {
		return abortSlowReader
	}
	return abortClientGone
}

// Prepare implements engine.Outlet.
func (a *answer) Prepare(ev plan.TokenEvent) {
	choice := &a.request.Plan.Choices[ev.Choice]
	if !a.order.streamed {
		if a.prepares++; a.prepares == a.request.Plan.OutputTokens() {
			a.prepared = a.whole()
		}
		return
	}
	if ev.Index == 0 {
		a.prepared = a.appendEvent(a.prepared, a.order.form.opening(ev.Choice))
	}
	a.prepares++
	a.prepared = a.renderers[ev.Choice].appendToken(a.prepared, a.framing, choice, ev.Index)
	if ev.Index == len(choice.Tokens)-1 {
		a.prepared = a.appendEvent(a.prepared, a.order.form.finish(ev.Choice, choice.FinishReason))
	}
}

// Release implements engine.Outlet.
func (a *answer) Release() (int64, engine.Delivery) {
	if len(a.prepared) == 0 {
		return 0, engine.Held
	}
	at := a.server.config.Clock.Now()
	send := a.peer.Send
	if !a.order.streamed {
		send = a.peer.SendWhole
	}
	waited, err := send(a.prepared)
	a.prepared = a.prepared[:0]
	switch {
	case errors.Is(err, conn.ErrSlowReader):
		return at, engine.Overflowed
	case err != nil:
		return at, engine.Gone
	case waited:
		return at, engine.Backpressured
	}
	return at, engine.Sent
}

// Flush implements engine.Outlet. An engine that waits for the reader has the
// request, though its Submit has not returned: no other is held up until it does.
func (a *answer) Flush() error {
	a.peer.LookedAt()
	return a.peer.Flush(a.server.config.SlowReaderTimeout)
}

// Done implements engine.Outlet.
func (a *answer) Done(err error) {
	a.done, a.err = true, err
	a.peer.Interrupt()
}

// chunk is an event with the answer's head and one choice. Where every event has
// usage, it has this.
func (a *answer) chunk(choice, usage any) chunk {
	c := a.head
	c.Choices = []any{choice}
	if a.order.everyUsage {
		c.Usage = usage
	}
	return c
}

// appendEvent appends an event that is no token's, framed; nil: nothing.
func (a *answer) appendEvent(dst []byte, choice any) []byte {
	if choice == nil {
		return dst
	}
	soFar := json.RawMessage(nil)
	if a.order.everyUsage {
		soFar = a.appendRunningUsage(nil)
	}
	return a.framing.appendFramed(dst, appendEvent(nil, marshal(a.chunk(choice, soFar))))
}

// tail is what follows the last token: usage, the end marker, the last chunk.
func (a *answer) tail() []byte {
	var tail []byte
	if a.order.wantUsage {
		c := a.head
		c.Choices, c.Usage = []any{}, a.used()
		if a.wantTiming {
			c.Timing = a.timing()
		}
		tail = a.framing.appendFramed(tail, appendEvent(nil, marshal(c)))
	}
	tail = a.framing.appendFramed(tail, appendEvent(nil, []byte("[DONE]")))
	if a.framing == chunked {
		tail = append(tail, "0\r\n\r\n"...)
	}
	return tail
}

// used is the request's usage, known once it has got into a step.
func (a *answer) used() *usage {
	u := a.usage
	if cached := a.request.CachedTokens; cached > 0 {
		u.PromptTokensDetails = &promptTokensDetails{CachedTokens: cached}
	}
	return &u
}

// timing is the extension of the usage event. Tokens that waited in the
// reader's own buffer have no moment of release; nil when the first or the last
// did.
func (a *answer) timing() *wire.Timing {
	t := &wire.Timing{
		Simulated: wire.Instants{FirstNS: math.MaxInt64},
		Server:    wire.Instants{FirstNS: math.MaxInt64},
	}
	widen := func(i *wire.Instants, times []int64, scale float64) {
		after := func(moment int64) int64 { return int64(math.Round(float64(moment-a.request.Arrival) / scale)) }
		i.FirstNS = min(i.FirstNS, after(times[0]))
		i.LastNS = max(i.LastNS, after(times[len(times)-1]))
	}
	for _, line := range a.request.Timelines {
		widen(&t.Simulated, line.Due, 1)
		if line.Released[0] == engine.NotDelivered || line.Released[len(line.Released)-1] == engine.NotDelivered {
			return nil
		}
		widen(&t.Server, line.Released, a.server.config.TimeScale)
	}
	return t
}

// usageKey starts the last field of an answer that is not streamed.
const usageKey = `,"usage":`

// renderText renders a response that is not streamed up to its usage. It is done
// before the engine has the request: a long text would hold up its thread.
func (a *answer) renderText() {
	if e := a.order.embeddings; e != nil {
		a.text = beforeUsage(e.list(a.head.Model))
		return
	}
	form := a.order.form
	c := completion{ID: a.head.ID, Object: form.names().whole, Created: a.head.Created, Model: a.head.Model}
	for i := range a.request.Plan.Choices {
		choice := &a.request.Plan.Choices[i]
		c.Choices = append(c.Choices, form.whole(i, choice, a.logprobs(choice)))
	}
	a.text = beforeUsage(c)
}

// beforeUsage renders an answer up to its last field, the usage.
func beforeUsage(v any) []byte {
	body := marshal(v)
	return body[:bytes.LastIndex(body, []byte(usageKey))]
}

// logprobs are those of a choice that is not streamed, nil if they are not wanted.
func (a *answer) logprobs(choice *plan.Choice) json.RawMessage {
	if !a.order.logprobs() {
		return nil
	}
	from, to := choice.Content()
	var likely []llm.Alternative
	return a.order.form.appendLogprobs(nil, choice.Tokens[from:to], from, 0, a.order.alternatives, &likely)
}

// whole is a response that is not streamed, head included.
func (a *answer) whole() []byte {
	used := any(a.used())
	if a.order.embeddings != nil {
		used = embeddingUsage{a.usage.PromptTokens, a.usage.PromptTokens}
	}
	end := append(append([]byte(usageKey), marshal(used)...), '}')
	response := a.responseHead(len(a.text) + len(end))
	response = slices.Grow(response, len(a.text)+len(end))
	return append(append(response, a.text...), end...)
}

// Lengths of a body that fasthttp's headers have no number for.
const (
	lengthChunked    = -1
	lengthUntilClose = -2
)

// responseHead renders status line and headers for a body of this length.
func (a *answer) responseHead(length int) []byte {
	var h fasthttp.ResponseHeader
	h.SetServer(wire.ServerName)
	h.SetContentLength(length)
	h.SetContentType("application/json")
	if a.order.streamed {
		h.SetContentType("text/event-stream; charset=utf-8")
		h.Set("Cache-Control", "no-cache")
	}
	if !a.keepAlive {
		h.SetConnectionClose()
	}
	return h.Header()
}

// streamHead is the responseHead of a stream.
func (a *answer) streamHead() []byte {
	if a.framing == untilClose {
		return a.responseHead(lengthUntilClose)
	}
	return a.responseHead(lengthChunked)
}

// lastDue is when the answer's last token was due; a request pipelined behind
// it can't have been looked at before.
func (a *answer) lastDue() int64 {
	last := a.request.Arrival
	for _, t := range a.request.Timelines {
		if n := len(t.Due); n > 0 {
			last = max(last, t.Due[n-1])
		}
	}
	return last
}

// created is the time that answers carry.
func created() int64 { return time.Now().Unix() }
