package engine

import (
	"sync"

	"llmsim-bench/internal/sleep"
)

// mailbox is how other goroutines reach an engine's thread: with what it is to
// take on, and with what it is to let go of. The thread itself takes no other
// lock on its way to a release.
type mailbox[T any] struct {
	sleeper sleep.Sleeper
	// take and drop are what the thread does with each, in collect; next is what
	// it sleeps until afterwards, if nothing earlier comes.
	take, drop func(T)
	next       func() int64

	mu     sync.Mutex
	in     []T
	out    []leaving[T]
	alarm  int64 // of next: something earlier wakes the thread
	closed bool

	stopped chan struct{} // closed when the thread has ended
}

// leaving is a wish to let go of something; gone is closed when that is done.
type leaving[T any] struct {
	what T
	gone chan struct{}
}

func newMailbox[T any](sleeper sleep.Sleeper, take, drop func(T), next func() int64) *mailbox[T] {
	return &mailbox[T]{
		sleeper: sleeper, take: take, drop: drop, next: next, alarm: never, stopped: make(chan struct{}),
	}
}

// put hands something to the thread that it has to see by a moment.
func (m *mailbox[T]) put(what T, by int64) {
	m.mu.Lock()
	m.in = append(m.in, what)
	wake := by < m.alarm
	m.mu.Unlock()
	if wake {
		m.sleeper.Wake()
	}
}

// remove has the thread let go of something, and returns when it has. It is for
// any goroutine but the thread's own.
func (m *mailbox[T]) remove(what T) {
	gone := make(chan struct{})
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		<-m.stopped
		return
	}
	m.out = append(m.out, leaving[T]{what, gone})
	m.mu.Unlock()
	m.sleeper.Wake()
	<-gone
}

// close ends the thread, and returns when it has.
func (m *mailbox[T]) close() {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.sleeper.Wake()
	<-m.stopped
}

// collect is for the thread: it takes on and drops all there is, and reports
// whether to go on.
func (m *mailbox[T]) collect() (open bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var none T
	for i, what := range m.in {
		m.take(what)
		m.in[i] = none
	}
	m.in = m.in[:0]
	for i, l := range m.out {
		m.drop(l.what)
		close(l.gone)
		m.out[i] = leaving[T]{}
	}
	m.out = m.out[:0]
	m.alarm = m.next()
	return !m.closed
}
