package engine

import (
	"container/heap"

	"llmsim-bench/simserver/sched"
)

// decide makes the Schedule call that stands at a moment of the timeline.
func (b *Batched) decide(at int64) {
	if !b.wait(at) || !b.settled(at) {
		return
	}
	if !b.collect() {
		return
	}
	for r := b.pending.first(); r != nil && r.batched.handover <= at; r = b.pending.first() {
		b.add(heap.Pop(&b.pending).(*Request))
		b.countLate(r, at)
	}
	b.decided = at
	if action, _ := b.loop.Next(); action != Schedule {
		return // an abort came in between, and nothing is left to do
	}
	b.turn++
	now := b.config.Clock.Now()
	step, t := b.loop.Schedule()
	b.admit(step, t.Scheduled, now)
	for _, id := range step.Preempted {
		s := b.sequences[id.Slot()]
		s.request.Preemptions++
		s.request.Timelines[s.choice].Preemptions++
	}
	outputs := b.flight[b.flying][:0]
	for _, q := range step.Seqs {
		if q.Samples {
			outputs = append(outputs, b.sequences[q.ID.Slot()])
		}
	}
	b.flight[b.flying] = outputs
	b.flying++
	b.counts.Lock()
	b.steps.Step(step, t, b.loop.Scheduler())
	b.counts.Unlock()
	if b.flying == 1 {
		b.render(t.End)
	}
}

// admit notes who got into a step for the first time, which stands at a moment of
// the timeline and was decided now.
func (b *Batched) admit(step *sched.Step, at, now int64) {
	served := 0
	for _, a := range step.Admitted {
		if a.Resumed {
			continue
		}
		s := b.sequences[a.ID.Slot()]
		r, t := s.request, &s.request.Timelines[s.choice]
		t.Queue, t.CachedTokens = at-r.batched.handover, int(a.Cached)
		if r.Queue == NotDelivered {
			r.Queue, r.QueueServer = at-r.batched.handover, now-r.batched.handover
			// The other choices find in the cache what this one has put there.
			r.CachedTokens = int(a.Cached)
		}
		if r.batched.waits {
			r.batched.waits = false
			served++
		}
	}
	b.room.served(served, now)
}

// countLate counts a request that an earlier Schedule call should have seen.
func (b *Batched) countLate(r *Request, at int64) {
	if r.batched.handover > b.decided || at == b.decided {
		return
	}
	b.counts.Lock()
	b.late.Requests++
	b.late.MaxMS = max(b.late.MaxMS, float64(at-b.decided)/1e6)
	b.counts.Unlock()
}

// render prepares the tokens of the step that ends next.
func (b *Batched) render(due int64) {
	b.next = b.next[:0]
	for _, s := range b.flight[0] {
		if b.sequences[s.id.Slot()] != s { // aborted, or ended one step before
			continue
		}
		s.request.prepare(s.choice, due)
		if !s.request.batched.prepared { // several choices are written at once
			s.request.batched.prepared = true
			b.next = append(b.next, s)
		}
	}
}

// complete ends the oldest step: its tokens are written, then the scheduler
// learns of them.
func (b *Batched) complete(at int64) {
	if !b.wait(at) {
		return
	}
	n := len(b.next)
	for i := range n {
		s := b.next[(i+b.rotation)%n]
		r := s.request
		r.batched.prepared = false
		if !r.batched.over {
			r.batched.failed = r.release()
		}
	}
	b.rotation++

	b.turn++
	outputs, _ := b.loop.Complete()
	for _, out := range outputs {
		s := b.sequences[out.ID.Slot()]
		if out.Finish != sched.Unfinished {
			b.sequences[out.ID.Slot()] = nil
			s.request.batched.running--
		}
	}
	for i, s := range b.next {
		if r := s.request; !r.batched.over && (r.batched.failed != nil || r.batched.running == 0) {
			b.drop(r)
			r.Outlet.Done(r.batched.failed)
		}
		b.next[i] = nil
	}
	b.next = b.next[:0]
	b.flight[0], b.flight[1] = b.flight[1], b.flight[0]
	b.flying--
	if b.flying > 0 {
		b.render(b.loop.OldestEnd())
	}
}
