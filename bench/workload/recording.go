package workload

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"
)

// Bounds of what a trace may hold.
const (
	// DefaultBlockTokens is how many tokens of a prompt a block id stands for where
	// nothing else is said: the Mooncake traces' number.
	DefaultBlockTokens = 512

	maxTraceRequests = 10_000_000
	maxTraceTime     = 366 * 24 * time.Hour
	minTraceSpeed    = 0.01
	maxTraceSpeed    = 1e6
)

// TraceOptions says which part of a trace is wanted, and how. The zero value
// wants all of it as it was recorded.
type TraceOptions struct {
	// Speed divides the times: at 2, requests come twice as fast. 0 is the same
	// as 1.
	Speed float64
	// Until keeps the requests before this time of the trace itself, whatever the
	// speed; 0 keeps all.
	Until time.Duration
	// First keeps so many of those requests, the earliest; 0 keeps all.
	First int
	// MaxPrompt and MaxOutput cut longer prompts and outputs to so many tokens; 0
	// cuts none.
	MaxPrompt, MaxOutput int
	// BlockTokens is how many tokens of a prompt a block id stands for; 0 is the
	// same as DefaultBlockTokens.
	BlockTokens int
}

// Check returns an error that names every option that is not possible.
func (o TraceOptions) Check() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("trace: "+format, args...)) }
	if o.Speed != 0 && !(o.Speed >= minTraceSpeed && o.Speed <= maxTraceSpeed) {
		bad("a speed of %v is not possible: it must be %v to %.0f, where 1 is as recorded", o.Speed, minTraceSpeed, float64(maxTraceSpeed))
	}
	if o.Until < 0 {
		bad("a part of %v is not possible: it must be longer than 0, or 0 for all", o.Until)
	}
	for _, n := range []struct {
		what string
		n    int
	}{{"%d requests", o.First}, {"prompts of at most %d tokens", o.MaxPrompt}, {"outputs of at most %d tokens", o.MaxOutput}, {"blocks of %d tokens", o.BlockTokens}} {
		if n.n < 0 {
			bad(n.what+" are not possible: it must be 1 or more, or 0 to leave it as it is", n.n)
		}
	}
	return errors.Join(errs...)
}

// request is one of a trace.
type request struct {
	at             time.Duration // negative while the earliest one is not known
	prompt, output int           // tokens
	blocks         []int64       // ids of the blocks that the prompt starts with
}

// Recording is what a trace says: when requests came, how long they were, and
// which of their prompts started alike.
type Recording struct {
	requests    []request // by time
	blockTokens int
	// How many lengths had to change: longer ones than the options allow were
	// cut, and outputs of no token were raised to one.
	CutPrompts, CutOutputs, RaisedOutputs int
}

// ReadTrace reads a trace. Its first line tells the form:
//
//   - JSON Lines with timestamp in milliseconds, input_length, output_length and
//     hash_ids, which name the blocks of the prompt: equal ids stand for equal
//     text (the Mooncake traces). hash_ids may be left out.
//   - JSON Lines with at_s in seconds, prompt_tokens, output_tokens and, if they
//     are known, hash_ids.
//   - CSV whose header has the columns TIMESTAMP (a date and a time of day),
//     ContextTokens and GeneratedTokens (the Azure traces).
//   - CSV whose header has at_s, prompt_tokens and output_tokens.
//
// Other keys and columns are passed over, and so are blank lines. Times count
// from the start of the trace; dates, from the earliest of them. Requests need
// not be in order. An error names the line.
func ReadTrace(r io.Reader, o TraceOptions) (*Recording, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	rec := &Recording{blockTokens: cmp.Or(o.BlockTokens, DefaultBlockTokens)}
	if err := rec.read(r); err != nil {
		return nil, fmt.Errorf("trace: %w", err)
	}
	if len(rec.requests) == 0 {
		return nil, errors.New("trace: there are no requests in it")
	}
	slices.SortStableFunc(rec.requests, func(a, b request) int { return cmp.Compare(a.at, b.at) })
	if err := rec.settleTimes(); err != nil {
		return nil, err
	}
	rec.keep(o)
	if len(rec.requests) == 0 {
		return nil, fmt.Errorf("trace: there are no requests before %v in it", o.Until)
	}
	rec.fit(o)
	return rec, nil
}

// settleTimes makes times count from the earliest where they are dates.
func (r *Recording) settleTimes() error {
	if first := r.requests[0].at; first < 0 {
		for i := range r.requests {
			r.requests[i].at -= first
		}
	}
	if last := r.requests[len(r.requests)-1].at; last > maxTraceTime {
		return fmt.Errorf("trace: the last request is %v after the start, more than %v", last, maxTraceTime)
	}
	return nil
}

// keep drops the requests that are not wanted.
func (r *Recording) keep(o TraceOptions) {
	if o.Until > 0 {
		n, _ := slices.BinarySearchFunc(r.requests, o.Until, func(q request, until time.Duration) int { return cmp.Compare(q.at, until) })
		r.requests = r.requests[:n]
	}
	if o.First > 0 {
		r.requests = r.requests[:min(o.First, len(r.requests))]
	}
	r.requests = slices.Clip(r.requests)
}

// fit changes times and lengths to what is wanted.
func (r *Recording) fit(o TraceOptions) {
	for i := range r.requests {
		q := &r.requests[i]
		if o.Speed != 0 && o.Speed != 1 {
			q.at = time.Duration(math.Round(float64(q.at) / o.Speed))
		}
		if o.MaxPrompt > 0 && q.prompt > o.MaxPrompt {
			q.prompt = o.MaxPrompt
			r.CutPrompts++
		}
		if o.MaxOutput > 0 && q.output > o.MaxOutput {
			q.output = o.MaxOutput
			r.CutOutputs++
		}
		if q.output < 1 {
			q.output = 1
			r.RaisedOutputs++
		}
	}
}

// blocksOf returns how many blocks a prompt of n tokens has, the last of which
// may be a part of one.
func (r *Recording) blocksOf(n int) int {
	return n/r.blockTokens + min(n%r.blockTokens, 1)
}

// Len returns the number of requests, which is 1 or more.
func (r *Recording) Len() int { return len(r.requests) }

// Times returns when the requests came, ascending, from the start of the trace.
func (r *Recording) Times() []time.Duration {
	times := make([]time.Duration, len(r.requests))
	for i, q := range r.requests {
		times[i] = q.at
	}
	return times
}

// Prompts returns the range of the prompts' lengths as they were recorded, or
// cut, in tokens. The shortest may be 0.
func (r *Recording) Prompts() Lengths {
	return r.lengths(func(q request) int { return q.prompt })
}

// Outputs returns the range of the outputs' lengths, in tokens.
func (r *Recording) Outputs() Lengths {
	return r.lengths(func(q request) int { return q.output })
}

// MeanOutput returns the mean number of tokens that a request asks for.
func (r *Recording) MeanOutput() float64 {
	sum := 0.0
	for _, q := range r.requests {
		sum += float64(q.output)
	}
	return sum / float64(len(r.requests))
}

func (r *Recording) lengths(of func(request) int) Lengths {
	l := Fixed(of(r.requests[0]))
	for _, q := range r.requests {
		l.Min, l.Max = min(l.Min, of(q)), max(l.Max, of(q))
	}
	return l
}
