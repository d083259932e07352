package sched

// MaxInFlight is how many steps may be in flight: 1, or 2 with asynchronous
// scheduling.
func (s *Scheduler) MaxInFlight() int { return len(s.steps) }

// InFlight is how many are: scheduled and not completed.
func (s *Scheduler) InFlight() int { return s.inFlight }

// Ahead says that the engine, after a Schedule, calls it again before it waits for
// the oldest step: another one may be in flight, and there was or is work for it.
func (s *Scheduler) Ahead() bool {
	if s.inFlight == 0 || s.inFlight == len(s.steps) {
		return false
	}
	newest := &s.steps[(s.oldest+s.inFlight-1)%len(s.steps)]
	return len(newest.Seqs) > 0 || s.HasWork()
}

// HasWork says that the engine calls Schedule once more: there are requests, or
// some ended since the last call.
func (s *Scheduler) HasWork() bool {
	return s.unreported || len(s.running) > 0 || s.waiting.len() > 0
}

// NumRunning is how many sequences run.
func (s *Scheduler) NumRunning() int { return len(s.running) }

// NumWaiting is how many requests wait, the preempted ones among them.
func (s *Scheduler) NumWaiting() int { return s.waiting.len() }

// NumBlocks is how many blocks sequences can use.
func (s *Scheduler) NumBlocks() int { return s.config.NumBlocks }

// FreeBlocks is how many blocks no sequence holds; they may still cache a prefix.
func (s *Scheduler) FreeBlocks() int { return s.pool.free }

// AppendRunning appends the running sequences, in order of admission.
func (s *Scheduler) AppendRunning(to []ID) []ID {
	for _, q := range s.running {
		to = append(to, q.id)
	}
	return to
}

// AppendWaiting appends the waiting requests, the next one first.
func (s *Scheduler) AppendWaiting(to []ID) []ID {
	s.waiting.each(func(q *sequence) { to = append(to, q.id) })
	return to
}

// AppendBlockTable appends the ids of a sequence's blocks, in the order of its
// tokens. Ids count from 1.
func (s *Scheduler) AppendBlockTable(to []int32, id ID) []int32 {
	if q := s.seqs.get(id); q != nil {
		to = append(to, q.table...)
	}
	return to
}

// AppendFreeQueue appends the ids of the free blocks, the next to be taken first.
func (s *Scheduler) AppendFreeQueue(to []int32) []int32 {
	for b := s.pool.blocks[0].next; b != 0; b = s.pool.blocks[b].next {
		to = append(to, b)
	}
	return to
}

// AppendRegistered appends the ids of the blocks that the prefix cache can find,
// in ascending order.
func (s *Scheduler) AppendRegistered(to []int32) []int32 {
	for b := range s.pool.blocks {
		if s.pool.blocks[b].registered {
			to = append(to, int32(b))
		}
	}
	return to
}

// PrefixStats counts the lookups in the prefix cache since New.
type PrefixStats struct {
	// New counts those of requests never preempted, the only ones vLLM publishes;
	// Preempted those of the others.
	New, Preempted PrefixLookups
}

// PrefixLookups counts lookups in requests and in tokens.
type PrefixLookups struct {
	Requests int64
	// Queries is how many tokens were looked up, Hits how many were found.
	Queries, Hits int64
}

// PrefixStats returns the counts.
func (s *Scheduler) PrefixStats() PrefixStats { return s.prefix }
