package sched

// admitWaiting takes requests out of the queue until one does not fit: nobody
// overtakes it.
func (s *Scheduler) admitWaiting(step *Step) {
	for step.Tokens < s.config.MaxNumBatchedTokens && len(s.running) < s.config.MaxNumSeqs {
		q := s.waiting.head()
		if q == nil || !s.admit(step, q) {
			return
		}
	}
}

// admit moves q from the queue to the running ones, with its first chunk. If
// that does not fit it changes nothing and reports false.
func (s *Scheduler) admit(step *Step, q *sequence) bool {
	dormant := s.findCached(q)
	cached := int32(len(s.hits) * s.config.BlockSize)
	if s.config.Rules.CountFailedLookups {
		s.countLookup(q, cached)
	}

	left := int32(s.config.MaxNumBatchedTokens - step.Tokens)
	n := s.capLong(q.known - cached)
	if n > left {
		if !s.config.EnableChunkedPrefill {
			return false
		}
		n = left
	}

	reach := cached + n // how many tokens need blocks now
	if s.config.ReserveFullISL {
		reach = q.known
	}
	reserve := 0
	if len(s.running) > 0 {
		reserve = s.watermark
	}
	blocks := ceilDiv(int(reach), s.config.BlockSize) - len(s.hits)
	if blocks+dormant+reserve > s.pool.free {
		return false
	}

	if !s.config.Rules.CountFailedLookups {
		s.countLookup(q, cached)
	}
	s.waiting.remove(q)
	s.running = append(s.running, q)
	step.Admitted = append(step.Admitted, Admission{ID: q.id, Cached: cached, Resumed: q.preempted})
	for _, b := range s.hits {
		s.pool.adopt(b)
	}
	q.running = true
	q.table = append(q.table, s.hits...)
	q.registered = len(s.hits)
	q.computed = cached
	q.prefill = q.known
	s.takeBlocks(q, ceilDiv(int(cached+n), s.config.BlockSize)-len(s.hits))
	s.register(q, cached+n)
	s.give(step, q, n)
	return true
}

// findCached collects the cached blocks that q's tokens begin with, and counts
// those in the free queue. The last token is always computed, since its output
// is wanted.
func (s *Scheduler) findCached(q *sequence) (dormant int) {
	s.hits = s.hits[:0]
	if !s.config.EnablePrefixCaching {
		return 0
	}
	for _, key := range q.keys[:int(q.known-1)/s.config.BlockSize] {
		b, free := s.pool.lookup(key)
		if b == 0 {
			break
		}
		if free {
			dormant++
		}
		s.hits = append(s.hits, b)
	}
	return dormant
}

func (s *Scheduler) countLookup(q *sequence, cached int32) {
	if !s.config.EnablePrefixCaching {
		return
	}
	c := &s.prefix.New
	if q.preempted {
		c = &s.prefix.Preempted
	}
	c.Requests++
	c.Queries += int64(q.known)
	c.Hits += int64(cached)
}
