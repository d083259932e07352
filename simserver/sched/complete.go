package sched

// Complete says that the oldest step in flight was computed. It returns the
// output tokens, in the step's order; a request whose last token is among them
// has left its place and its blocks. Requests aborted since get no output. The
// slice holds until the next call. Complete panics if no step is in flight.
func (s *Scheduler) Complete() []Output {
	if s.inFlight == 0 {
		panic("sched: Complete with no step in flight")
	}
	step := &s.steps[s.oldest]
	s.oldest = (s.oldest + 1) % len(s.steps)
	s.inFlight--

	s.outputs = s.outputs[:0]
	finished := false
	for i := range step.Seqs {
		e := &step.Seqs[i]
		if !e.Samples {
			continue
		}
		q := s.seqs.get(e.ID)
		if q == nil {
			continue
		}
		s.outputs = append(s.outputs, Output{})
		out := &s.outputs[len(s.outputs)-1] // filled in place, as in give
		out.ID, out.Index = q.id, q.known-q.prompt
		s.learn(q)
		if q.known >= q.end {
			out.Finish = q.finish
			s.leave(q)
			q.ended, finished = true, true
		}
	}
	if finished {
		s.dropFinished()
	}
	return s.outputs
}

// learn adds an output token to q.
func (s *Scheduler) learn(q *sequence) {
	q.inFlight--
	q.known++
	if !s.config.EnablePrefixCaching {
		return
	}
	if q.known == q.full {
		q.hashOutputs()
		q.full += int32(s.config.BlockSize)
	}
	// A block whose last token was still in flight when it was scheduled has a key
	// only now.
	s.register(q, q.computed-q.inFlight)
}

// dropFinished takes the finished sequences out of running, and gives them back.
func (s *Scheduler) dropFinished() {
	kept := s.running[:0]
	for _, q := range s.running {
		if !q.ended {
			kept = append(kept, q)
		}
	}
	clear(s.running[len(kept):])
	s.running = kept
	for _, out := range s.outputs {
		if out.Finish != Unfinished {
			s.seqs.end(s.seqs.bySlot[out.ID.slot])
		}
	}
}
