package load

import (
	"time"

	"llmsim-bench/bench/record"
)

// Job is one request that is to be made.
type Job struct {
	ID           int64
	Due          time.Duration // since the start of the run
	Phase        string
	Prompt       []byte // the text of the user's message
	PromptTokens int    // how long the prompt was made
	OutputTokens int    // tokens to ask for
	// Request holds the bytes to send, where Options.Prepare has made them ahead of
	// time.
	Request []byte
}

// State says what a Source has to offer.
type State int

// States of a Source.
const (
	Ready State = iota // a job comes with it
	Wait               // nothing until a request ends
	End                // nothing any more
)

// A Source says which request comes next. The dispatcher calls it from one
// goroutine.
type Source interface {
	// Next returns the job that is due first of those known so far. It is called
	// ahead of that time.
	Next() (Job, State)
	// Before returns a job due before the given time, if there is one: a request
	// that ended since Next was called may have brought it about.
	Before(due time.Duration) (Job, bool)
	// Done tells that a request of this source ended, at the given time since the
	// start of the run. One that was cancelled or dropped ended with the run. Once
	// Next has returned End, Done is not called any more.
	Done(rec *record.Request, at time.Duration)
	// Horizon is the time since the start of the run from which on no job is due.
	Horizon() time.Duration
}

// Workload says what request i asks. Its methods are pure.
type Workload interface {
	// AppendPrompt appends the text of prompt i to dst.
	AppendPrompt(dst []byte, i int64) []byte
	// PromptTokens is how long prompt i was made, in the server's tokens.
	PromptTokens(i int64) int
	// OutputTokens is how many tokens request i asks for.
	OutputTokens(i int64) int
}

// Window divides a run: [0, Warmup) is warm-up, [Warmup, Warmup+Measure) is
// measured. A request belongs to the phase in which it is due.
type Window struct{ Warmup, Measure time.Duration }

// End is the time since the start of the run at which the window ends.
func (w Window) End() time.Duration { return w.Warmup + w.Measure }

func (w Window) phase(due time.Duration) string {
	if due < w.Warmup {
		return record.PhaseWarmup
	}
	return record.PhaseMeasure
}

// job makes the request that is due, with the prompt of its own number.
func (w Window) job(id int64, due time.Duration, load Workload) Job {
	return Job{
		ID: id, Due: due, Phase: w.phase(due),
		Prompt: load.AppendPrompt(nil, id), PromptTokens: load.PromptTokens(id), OutputTokens: load.OutputTokens(id),
	}
}
