package engine

import (
	"fmt"
	"sync"
	"time"
)

// QueueFull refuses a request: as many wait for their first step as may.
type QueueFull struct {
	Waiting int
	// Wait is how long those will take at the rate of late, on the engine's clock;
	// 0: none of them has got into a step yet, so there is no rate.
	Wait time.Duration
}

// Error implements error.
func (q *QueueFull) Error() string {
	return fmt.Sprintf("%d requests wait already, and no more may", q.Waiting)
}

// waitingRoom counts the requests that were accepted and have got into no step,
// and bounds them. Those that were preempted wait elsewhere. It is safe for
// concurrent use.
type waitingRoom struct {
	max int // 0: no bound

	mu      sync.Mutex
	waiting int
	// Of these, so many got into a step since that moment: the rate at which the
	// room drains while it is not empty.
	drained float64
	since   int64
}

// drainMemory is after how many requests half of what the rate rests on is
// forgotten.
const drainMemory = 128

// enter takes a place, or returns a *QueueFull.
func (w *waitingRoom) enter(now int64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.max > 0 && w.waiting >= w.max {
		full := &QueueFull{Waiting: w.waiting}
		if w.drained > 0 {
			full.Wait = time.Duration(float64(now-w.since) / w.drained * float64(w.waiting))
		}
		return full
	}
	if w.waiting == 0 {
		w.drained, w.since = 0, now
	}
	w.waiting++
	return nil
}

// served frees the places of n requests that got into a step.
func (w *waitingRoom) served(n int, now int64) {
	if n == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting -= n
	w.drained += float64(n)
	if w.drained >= drainMemory {
		w.drained /= 2
		w.since = now - (now-w.since)/2
	}
}

// left frees the place of one that waits no longer.
func (w *waitingRoom) left() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting--
}
