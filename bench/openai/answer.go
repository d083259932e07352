package openai

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"llmsim-bench/bench/sse"
	"llmsim-bench/internal/wire"
)

// maxWholeBody bounds an answer that is not streamed.
const maxWholeBody = sse.DefaultMaxEvent

// errOver stops the decoder once the answer is over.
var errOver = errors.New("answer over")

// Answer turns the body of one answer with status 2xx into a Result: Reset, then
// Feed for each piece with the instant at which it came, until the answer is
// over or the body ends, then Finish. It keeps its buffers from one answer to
// the next.
type Answer struct {
	events sse.Decoder
	chat   ChatDecoder
	body   []byte // the whole body, once it shows that it is no stream
	form   form
	at     Received // when the bytes being decoded came

	exactTokens int
	over        bool
	done        bool // the terminal event came
	sawEvent    bool
	out         int64 // the first token that is not reasoning
	failure     Verdict
	message     string
	timing      *wire.Timing
	tokens      tokenLog
	speaking    []int // choices that have spoken but not finished
	finished    bool  // some choice has finished
}

// form is what the body is, known from its first byte that is no blank.
type form int

const (
	formUnknown form = iota
	formStream
	formWhole
)

// Reset makes a ready for another answer. exactTokens is the length that the
// request asked for exactly; 0 if it left the length to the model.
func (a *Answer) Reset(api API, exactTokens int) {
	a.events.Reset()
	a.tokens.reset()
	*a = Answer{
		events: a.events, chat: a.chat, tokens: a.tokens,
		body: a.body[:0], speaking: a.speaking[:0],
		exactTokens: exactTokens, out: Never,
	}
}

// Feed takes the body's next bytes and when they came. It reports whether the
// answer is over: nothing that follows can change it.
func (a *Answer) Feed(p []byte, came Received) (over bool) {
	if a.over {
		return true
	}
	a.at = came
	if a.form == formUnknown {
		a.form = recognise(p)
	}
	if a.form == formWhole {
		if len(a.body)+len(p) > maxWholeBody {
			a.fail(Malformed, fmt.Sprintf("the answer is longer than %d bytes", maxWholeBody))
			return true
		}
		a.body = append(a.body, p...)
		return false
	}
	if err := a.events.Feed(p, a.take); err != nil && !errors.Is(err, errOver) {
		a.fail(Malformed, err.Error())
	}
	return a.over
}

// recognise tells a JSON body from a stream: no line of an event stream that
// means anything starts with a brace.
func recognise(p []byte) form {
	p = bytes.TrimLeft(p, " \t\r\n")
	switch {
	case len(p) == 0:
		return formUnknown
	case p[0] == '{':
		return formWhole
	}
	return formStream
}

// take is called for each event.
func (a *Answer) take(ev sse.Event) error {
	c, err := a.chat.Decode(ev)
	if err != nil {
		if ev.Unterminated {
			return nil // the cut fell inside it: as if it had not come
		}
		a.fail(Malformed, err.Error())
		return errOver
	}
	a.sawEvent = true
	a.note(&c)
	if a.over {
		return errOver
	}
	return nil
}

func (a *Answer) note(c *Chunk) {
	if c.Failed {
		a.fail(ServerError, c.Message)
		return
	}
	a.tokens.add(c, a.at)
	if c.Timing != nil {
		a.timing = c.Timing
	}
	for i := range c.Deltas {
		d := &c.Deltas[i]
		if d.Output && a.out == Never {
			a.out = a.at.At
		}
		open := slices.Index(a.speaking, d.Choice)
		switch {
		case d.FinishReason != "":
			a.finished = true
			if open >= 0 {
				a.speaking = slices.Delete(a.speaking, open, open+1)
			}
		case d.TokenBearing() && open < 0:
			a.speaking = append(a.speaking, d.Choice)
		}
	}
	if c.Done {
		a.done, a.over = true, true
	}
}

func (a *Answer) fail(v Verdict, message string) {
	a.failure, a.message, a.over = v, message, true
}

// Finish returns what the answer comes to. at is when its body ended, whole or,
// if cut, before the end that its framing announced; it does not matter if the
// answer was over before. contentType is the answer's Content-Type: a declared
// event stream without an event is empty, anything else without one malformed.
func (a *Answer) Finish(at int64, cut bool, contentType string) Result {
	if !a.over {
		a.at = Received{NotBefore: at, At: at, Read: at, Waited: true}
		a.takeRest(cut)
	}
	r := Result{
		First: Never, Out: a.out, Last: Never, End: a.at.At,
		OutputTokens: a.tokens.outputTokens(), FromUsage: a.tokens.usageFinal(),
		PromptTokens: a.tokens.usage.PromptTokens, CachedTokens: a.tokens.usage.CachedTokens,
		Timing: a.timing, NotStreamed: a.form == formWhole,
	}
	if n := len(a.tokens.events); n > 0 {
		r.First, r.Last = a.tokens.events[0].came.At, a.tokens.events[n-1].came.At
	}
	r.Tokens, r.Estimated = a.tokens.firstChoice()
	r.Verdict, r.Message = a.verdict(cut, contentType)
	if r.Verdict == Complete {
		r.ShortOutput = r.FromUsage && r.OutputTokens < a.exactTokens
		r.TokenMismatch = r.FromUsage && r.OutputTokens < len(a.tokens.events)
		r.Clumped = a.tokens.clumped()
	}
	return r
}

// takeRest takes what only the end of the body completes: an event that no
// blank line ended, or the whole body.
func (a *Answer) takeRest(cut bool) {
	if a.form != formWhole {
		// take's own errors are in a already.
		_ = a.events.End(a.take)
		return
	}
	c, err := a.chat.Decode(sse.Event{Data: a.body})
	switch {
	case err == nil:
		a.note(&c)
		a.done = true
	case !cut:
		a.fail(Malformed, fmt.Sprintf("the answer is not JSON: %q", shorten(string(a.body))))
	}
}

func (a *Answer) verdict(cut bool, contentType string) (Verdict, string) {
	switch {
	case a.failure != Complete:
		return a.failure, a.message
	case a.done && len(a.tokens.events) > 0:
		return Complete, ""
	case a.done:
		return Empty, "the answer holds no token"
	case cut:
		return Truncated, "the connection ended before the answer did"
	case a.form == formUnknown:
		return Empty, "the answer has no body"
	case !a.sawEvent && !strings.HasPrefix(strings.ToLower(contentType), "text/event-stream"):
		return Malformed, fmt.Sprintf("the answer (Content-Type %q) is neither an event stream nor JSON", contentType)
	case len(a.tokens.events) == 0:
		return Empty, "the stream holds no token"
	case a.finished && len(a.speaking) == 0:
		return Complete, ""
	}
	return Truncated, "the stream ended with neither [DONE] nor a finish reason"
}
