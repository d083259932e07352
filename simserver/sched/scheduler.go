package sched

import "slices"

// Scheduler batches requests and shares out the KV blocks. Use it from one
// goroutine at a time.
type Scheduler struct {
	config    Config
	watermark int // blocks an admission leaves free
	pool      blockPool
	seqs      sequences
	running   []*sequence // in order of admission
	waiting   waitingQueue
	added     uint64
	prefix    PrefixStats

	// steps are used in turn: the inFlight ones from oldest on are being computed.
	steps            []Step
	oldest, inFlight int
	// unreported says that requests ended since the last Schedule.
	unreported bool

	outputs []Output // what Complete returned last
	hits    []int32  // cached blocks of the request being admitted
}

// New returns a scheduler with nothing to do. The error names the value that
// c must not have, and its limit.
func New(c Config) (*Scheduler, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	s := &Scheduler{
		config:    c,
		watermark: c.watermarkBlocks(),
		pool:      newBlockPool(c.NumBlocks, c.Rules.PlainBlocksFirst),
		waiting:   &fcfsQueue{},
		steps:     make([]Step, 1),
	}
	if c.Policy == Priority {
		s.waiting = &priorityQueue{}
	}
	if c.AsyncScheduling {
		s.steps = make([]Step, 2)
	}
	return s, nil
}

// Add queues a request. The error says why it could never be served, with the
// limit it exceeds; it is then not queued.
func (s *Scheduler) Add(r Request) (ID, error) {
	if err := r.validate(&s.config); err != nil {
		return ID{}, err
	}
	q := s.seqs.start()
	q.name, q.priority, q.arrivalNS, q.added = r.Name, r.Priority, r.ArrivalNS, s.added
	s.added++
	q.prompt = int32(len(r.Prompt))
	q.known = q.prompt
	q.outputs = r.Output
	allowed := r.allowed(s.config.MaxModelLen)
	q.limit = q.prompt + int32(allowed)
	q.end, q.finish = q.limit, FinishLength
	if r.Stops && len(r.Output) <= allowed {
		q.end, q.finish = q.prompt+int32(len(r.Output)), FinishStop
	}
	if s.config.EnablePrefixCaching {
		q.hashPrompt(r.Prompt, s.config.BlockSize)
	}
	s.waiting.push(q)
	return q.id, nil
}

// Abort ends a request at any moment: waiting, or running with or without a step
// in flight, whose output for it is then dropped. Its blocks are free at once.
// It reports false if the request had ended already.
func (s *Scheduler) Abort(id ID) bool {
	q := s.seqs.get(id)
	if q == nil {
		return false
	}
	if q.running {
		at := slices.Index(s.running, q)
		s.running = slices.Delete(s.running, at, at+1)
	}
	s.leave(q)
	s.seqs.end(q)
	return true
}

// leave takes q out of the queue, if it is there, and frees its blocks.
func (s *Scheduler) leave(q *sequence) {
	if !q.running {
		s.waiting.remove(q)
	}
	s.freeBlocks(q)
	s.unreported = true
}

// freeBlocks leaves q without blocks.
func (s *Scheduler) freeBlocks(q *sequence) {
	s.pool.release(q.table)
	q.table = q.table[:0]
	q.room, q.computed, q.registered = 0, 0, 0
}

// ResetPrefixCache forgets what is cached, if no block is in use; else it reports
// false and changes nothing.
func (s *Scheduler) ResetPrefixCache() bool {
	if s.pool.free < s.config.NumBlocks {
		return false
	}
	s.pool.reset()
	return true
}
