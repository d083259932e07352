package metrics

import (
	"maps"
	"sync"
	"sync/atomic"

	"llmsim-bench/internal/wire"
)

// tally is the account of one model within one scope.
type tally struct {
	// received is counted without the lock, so that a request that begins never
	// waits for one that is being folded.
	received atomic.Int64

	mu            sync.Mutex
	completed     int64
	aborted       map[string]int64 // by reason
	rejected      map[string]int64 // by reason
	promptTokens  int64
	outputTokens  int64
	backpressured int64
	times         times
}

func (t *tally) end(promptTokens int, o *Outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if o.Aborted == "" {
		t.completed++
	} else {
		if t.aborted == nil {
			t.aborted = make(map[string]int64)
		}
		t.aborted[o.Aborted]++
	}
	t.promptTokens += int64(promptTokens)
	if o.Queue >= 0 {
		t.times.addQueue(o)
	}
	for i := range o.Choices {
		c := &o.Choices[i]
		t.outputTokens += int64(len(c.Released))
		t.backpressured += int64(c.Backpressured)
		t.times.fold(o, c)
	}
}

func (t *tally) reject(reason string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.rejected == nil {
		t.rejected = make(map[string]int64)
	}
	t.rejected[reason]++
}

// summary copies under the lock and computes after it, so that reading the
// account of a busy server keeps no request waiting.
func (t *tally) summary(engine string) wire.Model {
	t.mu.Lock()
	// Read inside the lock: each request counted as ended below was received
	// before, so that none is missing from the count.
	received := t.received.Load()
	m := wire.Model{
		Engine: engine,
		Requests: wire.Requests{
			Received: received, Completed: t.completed, Running: received - t.completed,
			Aborted: maps.Clone(t.aborted), Rejected: maps.Clone(t.rejected),
		},
		PromptTokens: t.promptTokens, OutputTokens: t.outputTokens, BackpressuredTokens: t.backpressured,
	}
	times := t.times.clone()
	t.mu.Unlock()

	for _, n := range m.Requests.Aborted {
		m.Requests.Running -= n
	}
	m.Metrics = times.summary()
	return m
}
