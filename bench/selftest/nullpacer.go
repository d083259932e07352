package selftest

import (
	"math"
	"net"
	"runtime"
	"sync"
	"time"

	"llmsim-bench/internal/sleep"
)

// stream is an answer that a pacer writes. It is the pacer's from add until done.
type stream struct {
	conn net.Conn
	left int   // events to come
	due  int64 // the next one
	err  error // why it ended early
	done chan struct{}
}

// pacer writes the events of all streams of one pace. As they all wait for
// equally long, the one that was written last is due last: a queue is all the
// order they need.
type pacer struct {
	pace    int64
	clock   interface{ Now() int64 }
	sleeper sleep.Sleeper

	mu     sync.Mutex
	coming []*stream // not yet in the queue
	closed bool

	queue []*stream // from head on, by due time; for run alone
	head  int
}

func newPacer(pace time.Duration, clock interface{ Now() int64 }, sleeper sleep.Sleeper) *pacer {
	return &pacer{pace: int64(pace), clock: clock, sleeper: sleeper}
}

// add has the events that a stream has left come, the first after one pace. It
// is false once the pacer is closed.
func (p *pacer) add(s *stream) bool {
	s.due, s.err = p.clock.Now()+p.pace, nil
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.coming = append(p.coming, s)
	if len(p.coming) == 1 {
		p.sleeper.Wake()
	}
	return true
}

// close ends run, and with it the streams.
func (p *pacer) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.sleeper.Wake()
}

// run writes events until close.
func (p *pacer) run() {
	runtime.LockOSThread() // for good: the thread ends with its timer slack
	sleep.Tighten()
	for p.take() {
		p.sleeper.Until(p.release(p.clock.Now()))
	}
	for _, s := range p.queue[p.head:] {
		p.finish(s, net.ErrClosed)
	}
}

// take puts the streams that came into the queue; it is false once closed.
func (p *pacer) take() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queue = append(p.queue, p.coming...)
	clear(p.coming)
	p.coming = p.coming[:0]
	return !p.closed
}

// release writes what is due and returns when something is due next. Due times
// are absolute, so that a late event delays none of those after it.
func (p *pacer) release(now int64) (next int64) {
	for ; p.head < len(p.queue); p.head++ {
		s := p.queue[p.head]
		if s.due > now {
			break
		}
		s.left--
		event := oneOfStream
		if s.left == 0 {
			event = lastOfStream
		}
		_, err := s.conn.Write(event)
		if err != nil || s.left == 0 {
			p.finish(s, err)
			continue
		}
		s.due += p.pace
		p.queue = append(p.queue, s)
	}
	p.compact()
	if p.head == len(p.queue) {
		return math.MaxInt64
	}
	return p.queue[p.head].due
}

// compact takes the written ones off the queue's front, now and then.
func (p *pacer) compact() {
	if p.head > len(p.queue)/2 {
		n := copy(p.queue, p.queue[p.head:])
		clear(p.queue[n:])
		p.queue, p.head = p.queue[:n], 0
	}
}

func (p *pacer) finish(s *stream, err error) {
	s.err = err
	s.done <- struct{}{}
}
