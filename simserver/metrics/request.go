package metrics

import "sync/atomic"

// Request is one request that has begun.
type Request struct {
	tallies      []*tally
	promptTokens int
	ended        atomic.Bool
}

// Outcome is what became of a request. All moments are int64 nanoseconds of the
// timeline's clock.
type Outcome struct {
	// Aborted says why the request ended early; empty: it completed.
	Aborted string
	// Arrival is when the last byte of the request was received.
	Arrival int64
	// Streamed says that tokens were sent one by one. Else the answer went out
	// whole, with its last token, and that token's times are all that the
	// server's columns can have.
	Streamed bool
	// Queue is how long the request waited for its first step, in ns; negative: it
	// got into none, or its engine has none.
	Queue int64
	// QueueServer is how long it took, in ns, until that step was really decided.
	QueueServer int64
	// Choices has a timeline for each of the answer's choices. End only reads it.
	Choices []Timeline
}

// Timeline says when the tokens of one choice were due and sent.
type Timeline struct {
	// Due is when each token was due on the simulated timeline.
	Due []int64
	// Released is when each token's bytes were handed to the kernel, as far as
	// the choice came: it is no longer than Due, and shorter if the request was
	// aborted. A negative moment says that the token was not handed over by
	// itself on time: it waited in a slow reader's buffer, or for the rest of an
	// answer that is sent whole. Such a token has simulated times only.
	Released []int64
	// Backpressured is how many of the tokens waited for a slow reader.
	Backpressured int
}

// End folds the request into its period and its phase. Only the first call
// counts, so that a completion and a disconnect may race.
//
// A completed request feeds every metric. An aborted one feeds itl and lag with
// the tokens that were released: those times are as real as any, while its ttft,
// tpot and e2e would be those of no answer.
func (q *Request) End(o Outcome) {
	if q.ended.Swap(true) {
		return
	}
	for _, t := range q.tallies {
		t.end(q.promptTokens, &o)
	}
}
