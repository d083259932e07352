package sched

// ID refers to one request of a Scheduler, from Add until it finishes or is
// aborted. It is a comparable value; an ID that has ended is never mistaken for
// a later request.
type ID struct {
	slot, generation uint32
}

// Slot is a small number, unique among the requests that are alive. A driver
// can keep what it knows of a request in a slice indexed by it. The slot of an
// ended request is given to a later one.
func (id ID) Slot() int { return int(id.slot) }

// Step is what the engine computes in one forward pass: the batch that Schedule
// put together. The cost model reads it to tell how long the pass takes.
//
// A Step belongs to its Scheduler, which uses it again: it holds until the call
// of Complete that processes it.
type Step struct {
	// Seqs lists the scheduled sequences in the order in which they were
	// scheduled, which is the order in which their outputs are processed:
	// running ones first, then the ones admitted in this step.
	Seqs []Scheduled
	// Tokens is the sum of New over Seqs.
	Tokens int
	// Admitted lists what came out of the waiting queue in this step, in order.
	Admitted []Admission
	// Preempted lists what lost its blocks in this step, in order.
	Preempted []ID
}

// Scheduled is one sequence's part of a step.
type Scheduled struct {
	ID ID
	// Context is how many of the sequence's tokens have KV entries before the
	// step, computed earlier or taken from the prefix cache.
	Context int32
	// New is how many tokens the step computes, at least 1.
	New int32
	// Prefill says that these tokens were known when the sequence was admitted:
	// its prompt, and, after a preemption, the outputs it had by then. Without
	// it the one new token is the output of an earlier step.
	Prefill bool
	// Samples says that the sequence's last token is among the new ones, so
	// that the step yields one output token. Only a prefill chunk that is not
	// the last one yields none.
	Samples bool
}

// Admission is one request's way out of the waiting queue.
type Admission struct {
	ID ID
	// Cached is how many tokens were taken from the prefix cache.
	Cached int32
	// Resumed says that the request had been admitted before, and preempted.
	Resumed bool
}
