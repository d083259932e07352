package sched

import (
	"fmt"
	"slices"
)

// Schedule puts the next step together: first the running sequences, in order of
// admission, then, unless one of them had to be preempted, waiting ones as far as
// tokens, places and blocks go. The step may be empty. It is in flight until
// Complete; as many may be as MaxInFlight says, and Schedule panics beyond.
func (s *Scheduler) Schedule() *Step {
	if s.inFlight == len(s.steps) {
		panic(fmt.Sprintf("sched: Schedule with %d of %d steps in flight: Complete one first", s.inFlight, len(s.steps)))
	}
	step := &s.steps[(s.oldest+s.inFlight)%len(s.steps)]
	*step = Step{Seqs: step.Seqs[:0], Admitted: step.Admitted[:0], Preempted: step.Preempted[:0]}
	s.inFlight++
	s.unreported = false

	s.continueRunning(step)
	if len(step.Preempted) == 0 {
		s.admitWaiting(step)
	}
	return step
}

// continueRunning gives each running sequence all it wants, up to the budget.
func (s *Scheduler) continueRunning(step *Step) {
	for i := 0; i < len(s.running) && step.Tokens < s.config.MaxNumBatchedTokens; i++ {
		q := s.running[i]
		n := s.share(step, q)
		if n <= 0 {
			continue
		}
		for !s.grow(q, n) {
			at := s.victim()
			victim := s.running[at]
			had := s.preempt(step, at)
			if victim == q {
				return // nobody behind it is served in this step
			}
			if at < i && (had || !s.config.Rules.VictimSkipsNext) {
				i--
			}
		}
		s.give(step, q, n)
	}
}

// share is how many tokens a running sequence gets, if it finds the blocks.
func (s *Scheduler) share(step *Step, q *sequence) int32 {
	// The output in flight is certain to be the last one the client allows.
	if q.inFlight > 0 && q.computed+2-q.inFlight >= q.limit {
		return 0
	}
	n := s.capLong(q.known + q.inFlight - q.computed)
	left := int32(s.config.MaxNumBatchedTokens - step.Tokens)
	return min(n, left, int32(s.config.MaxModelLen)-1-q.computed)
}

// capLong applies the threshold for long prefills.
func (s *Scheduler) capLong(n int32) int32 {
	if t := int32(s.config.LongPrefillTokenThreshold); t > 0 && n > t {
		return t
	}
	return n
}

// grow sees to it that q has blocks for its next n tokens. Without enough free
// blocks it changes nothing and reports false.
func (s *Scheduler) grow(q *sequence, n int32) bool {
	to := q.computed + n
	if to > q.room {
		need := ceilDiv(int(to-q.room), s.config.BlockSize)
		if need > s.pool.free {
			return false
		}
		s.takeBlocks(q, need)
	}
	s.register(q, min(to, q.known))
	return true
}

func (s *Scheduler) takeBlocks(q *sequence, n int) {
	for range n {
		q.table = append(q.table, s.pool.take())
	}
	q.room = int32(len(q.table) * s.config.BlockSize)
}

// register makes q's full blocks up to a number of tokens findable. Where their
// tokens are only being computed that is not too soon: whoever hits them runs in
// the same step or later.
func (s *Scheduler) register(q *sequence, tokens int32) {
	if !s.config.EnablePrefixCaching {
		return
	}
	for ; (q.registered+1)*s.config.BlockSize <= int(tokens); q.registered++ {
		s.pool.register(q.table[q.registered], q.keys[q.registered])
	}
}

// give enters q's n tokens in the step.
func (s *Scheduler) give(step *Step, q *sequence, n int32) {
	// Filled in place: a struct with small fields is slow to build and copy.
	step.Seqs = append(step.Seqs, Scheduled{})
	e := &step.Seqs[len(step.Seqs)-1]
	e.ID, e.Context, e.New = q.id, q.computed, n
	e.Prefill = q.computed < q.prefill
	e.Samples = q.computed+n == q.known+q.inFlight
	step.Tokens += int(n)
	q.computed += n
	if e.Samples {
		q.inFlight++
	}
}

// victim chooses whom to preempt, as a place in running: the last admitted, or
// under the Priority policy the least urgent, whoever it is.
func (s *Scheduler) victim() int {
	last := len(s.running) - 1
	if s.config.Policy == FCFS {
		return last
	}
	compare := compareUrgency
	if s.config.Rules.FirstTiedLoses {
		compare = compareRank
	}
	worst := 0
	for i, q := range s.running {
		if compare(q, s.running[worst]) > 0 {
			worst = i
		}
	}
	return worst
}

// preempt sends a running sequence back to the queue without its blocks, to
// compute everything again. What it had in this step goes back to the budget;
// had says whether there was anything. An output of an earlier step that is still
// in flight will count.
func (s *Scheduler) preempt(step *Step, at int) (had bool) {
	q := s.running[at]
	s.running = slices.Delete(s.running, at, at+1)
	for i := range step.Seqs {
		if e := step.Seqs[i]; e.ID == q.id {
			had = true
			step.Tokens -= int(e.New)
			if e.Samples {
				q.inFlight--
			}
			step.Seqs = slices.Delete(step.Seqs, i, i+1)
			break
		}
	}
	s.freeBlocks(q)
	q.running, q.preempted = false, true
	s.waiting.requeue(q)
	step.Preempted = append(step.Preempted, q.id)
	return had
}
