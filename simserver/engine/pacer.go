package engine

import (
	"container/heap"
	"math"
	"runtime"
	"slices"
	"sync"

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

// pacer fires tasks at their due times from one locked OS thread. Everything
// but the inbox belongs to that thread, so that the release path takes no lock.
type pacer struct {
	clock   Clock
	sleeper sleep.Sleeper
	rest    int64 // between two releases

	queue entryHeap
	batch []*entry
	order uint64 // the next entry's

	mu     sync.Mutex
	inbox  []*entry
	leave  []leaving
	armed  int64 // the sleeper's alarm; a task due earlier has to wake it
	closed bool

	stopped chan struct{}
}

// leaving is a wish to take an entry out; gone is closed when it is.
type leaving struct {
	entry *entry
	gone  chan struct{}
}

func newPacer(clock Clock, sleeper sleep.Sleeper, rest int64) *pacer {
	p := &pacer{clock: clock, sleeper: sleeper, rest: rest, armed: never, stopped: make(chan struct{})}
	go p.run()
	return p
}

// add schedules e, which is nowhere yet, at e.due. It is safe for any goroutine.
func (p *pacer) add(e *entry) {
	p.mu.Lock()
	p.inbox = append(p.inbox, e)
	wake := e.due < p.armed
	p.mu.Unlock()
	if wake {
		p.sleeper.Wake()
	}
}

// remove takes e out, wherever it is, and returns when the pacer has let go of
// it. It is safe for any goroutine but the pacer's own.
func (p *pacer) remove(e *entry) {
	gone := make(chan struct{})
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		<-p.stopped
		return
	}
	p.leave = append(p.leave, leaving{e, gone})
	p.mu.Unlock()
	p.sleeper.Wake()
	<-gone
}

// close stops the thread and returns when it has ended.
func (p *pacer) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.sleeper.Wake()
	<-p.stopped
}

func (p *pacer) run() {
	defer close(p.stopped)
	runtime.LockOSThread()
	sleep.Tighten()
	var rested int64 // when the rest after the last release is over
	for {
		next, open := p.collect()
		if !open {
			return
		}
		now := p.clock.Now()
		if next > now {
			p.sleeper.Until(max(next, rested))
			continue
		}
		p.release(now)
		rested = p.clock.Now() + p.rest
	}
}

// collect moves what other goroutines left into the queue and arms the alarm.
// It returns the next due time, and false once the pacer is closed.
func (p *pacer) collect() (next int64, open bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, e := range p.inbox {
		e.order = p.order
		p.order++
		heap.Push(&p.queue, e)
		p.inbox[i] = nil
	}
	p.inbox = p.inbox[:0]
	for _, l := range p.leave {
		if l.entry.index != absent {
			heap.Remove(&p.queue, l.entry.index)
		}
		close(l.gone)
	}
	p.leave = p.leave[:0]
	p.armed = never
	if len(p.queue) > 0 {
		p.armed = p.queue[0].due
	}
	return p.armed, !p.closed
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
