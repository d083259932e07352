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
// the next. Once warm, an event costs no allocation.
type Answer struct {
	// KeepText keeps the text of the first choice for Result.Text. It may change
	// between a Reset and the first Feed, and survives Reset.
	KeepText bool
	// MaxEvents bounds the token-bearing events, so that an answer that never ends
	// does not fill the memory; 0 is no bound. It is as KeepText is.
	MaxEvents int

	events  sse.Decoder
	decoder Decoder
	body    []byte // the whole body, once it shows that it is no stream
	form    form
	given   Received // with the bytes being decoded
	at      Received // when they came

	exactTokens int
	over        bool
	done        bool // the terminal event came
	sawEvent    bool
	embedded    bool // the answer is an embedding
	failure     Verdict
	message     string
	timing      *wire.Timing
	tokens      tokenLog
	text        []byte
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
	a.decoder.API = api
	*a = Answer{
		KeepText: a.KeepText, MaxEvents: a.MaxEvents, exactTokens: exactTokens, given: never, at: never,
		events: a.events, decoder: a.decoder, tokens: a.tokens,
		body: a.body[:0], text: a.text[:0], speaking: a.speaking[:0],
	}
}

// Feed takes the body's next bytes and when they came; the pieces of one read of
// the socket have the same Received, all of them. It reports whether the answer
// is over: nothing that follows can change it.
//
// A read's instant is that of its newest byte. So an event came at that instant
// exactly (NotBefore is At) if nothing of the body came behind it in the same
// read; an event that others follow came somewhere in the read's interval. A
// piece that seems to have come before the one before it came with that one.
func (a *Answer) Feed(p []byte, came Received) (over bool) {
	if a.over {
		return true
	}
	a.arrive(came)
	if a.form == formUnknown {
		a.form = a.recognise(p)
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
	if a.events.Trailing() {
		a.tokens.followed(a.at.NotBefore)
	}
	return a.over
}

// Tokens returns how many tokens of all choices have come, by the best count
// there is so far: the usage that the stream carries, ids and logprobs listed,
// or else the token-bearing events. It never falls, and is 0 until a token came.
// The Result counts anew.
func (a *Answer) Tokens() int { return a.tokens.running }

// never is before all that can come.
var never = Received{NotBefore: Never, At: Never, Read: Never}

// arrive says when the bytes came that are decoded next.
func (a *Answer) arrive(came Received) {
	if came == a.given {
		return
	}
	a.tokens.settle()
	a.given = came
	// What comes later came no earlier, however the instants were measured.
	came.At = max(came.At, a.at.At)
	a.at = came
}

// recognise tells a JSON body from a stream: no line of an event stream that
// means anything starts with a brace.
func (a *Answer) recognise(p []byte) form {
	p = bytes.TrimLeft(p, " \t\r\n")
	switch {
	case len(p) == 0:
		return formUnknown
	case p[0] == '{', !a.decoder.API.Streams():
		return formWhole
	}
	return formStream
}

// take is called for each event.
func (a *Answer) take(ev sse.Event) error {
	a.tokens.followed(a.at.NotBefore)
	c, err := a.decoder.Decode(ev)
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
	if c.Repeats && len(a.tokens.events) > 0 {
		c.Deltas = nil
	}
	a.tokens.add(c, a.at)
	if c.Timing != nil {
		a.timing = c.Timing
	}
	a.embedded = a.embedded || c.Embedded
	for i := range c.Deltas {
		d := &c.Deltas[i]
		if a.KeepText && len(d.Text) > 0 && d.Choice == a.tokens.events[0].choice {
			a.text = append(a.text, d.Text...)
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
	switch {
	case c.Done:
		a.done, a.over = true, true
	case a.MaxEvents > 0 && len(a.tokens.events) > a.MaxEvents:
		a.fail(Malformed, fmt.Sprintf("the answer does not end: more than %d events with tokens have come", a.MaxEvents))
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
		a.arrive(Received{NotBefore: at, At: at, Read: at, Waited: true})
		a.takeRest(cut)
	}
	r := Result{
		First: Never, Out: Never, Last: Never, End: a.at.At,
		OutputTokens: a.tokens.outputTokens(), FromUsage: a.tokens.usageFinal(),
		PromptTokens: a.tokens.usage.PromptTokens, CachedTokens: a.tokens.usage.CachedTokens,
		Choices: a.tokens.choices(), Text: string(a.text), Timing: a.timing,
		NotStreamed: a.form == formWhole && a.decoder.API.Streams(),
	}
	if n := len(a.tokens.events); n > 0 {
		r.FirstCame, r.LastCame = a.tokens.events[0].came, a.tokens.events[n-1].came
		r.First, r.Last = r.FirstCame.At, r.LastCame.At
		if i := a.tokens.firstOutput; i >= 0 {
			r.OutCame = a.tokens.events[i].came
			r.Out = r.OutCame.At
		}
	} else if a.embedded {
		r.FirstCame, r.LastCame = a.at, a.at
		r.First, r.Last = a.at.At, a.at.At
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
	c, err := a.decoder.Decode(sse.Event{Data: a.body})
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
	case a.done && (a.embedded || len(a.tokens.events) > 0):
		return Complete, ""
	case a.done:
		if !a.decoder.API.Streams() {
			return Empty, "the answer holds no embedding"
		}
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
	return Truncated, "the stream ended with neither its terminal event nor a finish reason"
}
