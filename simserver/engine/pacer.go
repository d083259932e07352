package engine

import (
	"container/heap"
	"math"
	"runtime"
	"slices"

	"llmsim-bench/internal/sleep"
)

// A task has work at moments that it names itself. The pacer calls both methods
// from its own thread; neither may block.
type task interface {
	// fire does what is due now, and only that: the writes.
	fire()
	// prepare gets the next work ready and says when it is due; false when the
	// task is over.
	prepare() (due int64, more bool)
}

// entry is a task's place in the pacer.
type entry struct {
	task  task
	due   int64
	order uint64 // of arrival, to tell equal due times apart
	fired int    // how often
	index int    // in the heap; absent while it is not there
}

const absent = -1

// never is later than every due time.
const never = math.MaxInt64

// DefaultRest is how long, in ns, a pacer sleeps at least between two releases.
// What falls due meanwhile is released together: a wake-up costs as much as a
// write.
const DefaultRest = 50_000

// pacer fires tasks at their due times from one locked OS thread. Everything but
// the mailbox belongs to that thread.
type pacer struct {
	clock   Clock
	sleeper sleep.Sleeper
	rest    int64 // between two releases

	queue entryHeap
	batch []*entry
	order uint64 // the next entry's

	*mailbox[*entry]
}

func newPacer(clock Clock, sleeper sleep.Sleeper, rest int64) *pacer {
	p := &pacer{clock: clock, sleeper: sleeper, rest: rest}
	p.mailbox = newMailbox(sleeper, p.take, p.drop, p.nextDue)
	go p.run()
	return p
}

// add schedules e, which is nowhere yet, at e.due. It is safe for any goroutine.
func (p *pacer) add(e *entry) { p.put(e, e.due) }

func (p *pacer) run() {
	defer close(p.stopped)
	runtime.LockOSThread()
	sleep.Tighten()
	var rested int64 // when the rest after the last release is over
	for p.collect() {
		now := p.clock.Now()
		if next := p.nextDue(); next > now {
			p.sleeper.Until(max(next, rested))
			continue
		}
		p.release(now)
		rested = p.clock.Now() + p.rest
	}
}

func (p *pacer) take(e *entry) {
	e.order = p.order
	p.order++
	heap.Push(&p.queue, e)
}

func (p *pacer) drop(e *entry) {
	if e.index != absent {
		heap.Remove(&p.queue, e.index)
	}
}

func (p *pacer) nextDue() int64 {
	if len(p.queue) == 0 {
		return never
	}
	return p.queue[0].due
}

// release fires every task that is due at now, then has each prepare its next
// work. Tasks with the same due time take turns at being first: the group is
// rotated by how often its oldest task has fired.
func (p *pacer) release(now int64) {
	p.batch = p.batch[:0]
	for len(p.queue) > 0 && p.queue[0].due <= now {
		p.batch = append(p.batch, heap.Pop(&p.queue).(*entry))
	}
	for from := 0; from < len(p.batch); {
		to := from + 1
		for to < len(p.batch) && p.batch[to].due == p.batch[from].due {
			to++
		}
		rotate(p.batch[from:to], p.batch[from].fired)
		from = to
	}
	for _, e := range p.batch {
		e.task.fire()
		e.fired++
	}
	for i, e := range p.batch {
		if due, more := e.task.prepare(); more {
			e.due = due
			heap.Push(&p.queue, e)
		}
		p.batch[i] = nil
	}
}

// rotate moves the first turn mod len(es) entries to the end.
func rotate(es []*entry, turn int) {
	k := turn % len(es)
	slices.Reverse(es[:k])
	slices.Reverse(es[k:])
	slices.Reverse(es)
}

// entryHeap orders entries by due time, then by order (container/heap).
type entryHeap []*entry

func (h entryHeap) Len() int { return len(h) }

func (h entryHeap) Less(i, j int) bool {
	if h[i].due != h[j].due {
		return h[i].due < h[j].due
	}
	return h[i].order < h[j].order
}

func (h entryHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *entryHeap) Push(x any) {
	e := x.(*entry)
	e.index = len(*h)
	*h = append(*h, e)
}

func (h *entryHeap) Pop() any {
	old := *h
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	e.index = absent
	return e
}
