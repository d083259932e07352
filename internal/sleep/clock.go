// Package sleep is the program's monotonic clock and a sleeper that wakes close
// to the moment asked for. Go's own timers wake up to 1 ms late on Linux,
// because the network poller waits in whole milliseconds.
//
// Moments are int64 nanoseconds of one Clock.
package sleep

import "time"

// Clock is a monotonic clock that starts at 0 when it is made.
type Clock struct{ base time.Time }

// NewClock returns a clock that starts now.
func NewClock() Clock { return Clock{base: time.Now()} }

// Now returns the nanoseconds since the clock was made.
func (c Clock) Now() int64 { return int64(time.Since(c.base)) }

// A Sleeper blocks one goroutine until a moment, or until another goroutine
// wakes it. Until is for one goroutine, which should hold its OS thread; Wake
// is for any.
type Sleeper interface {
	// Until returns at or after due, or earlier if Wake was called since the
	// last return. The caller looks at the clock to tell which.
	Until(due int64)
	// Wake makes the running call of Until, or else the next, return at once.
	Wake()
}

// Portable is a Sleeper on Go's own timers.
type Portable struct {
	clock Clock
	wake  chan struct{}
	timer *time.Timer
}

// NewPortable returns a Sleeper on Go's own timers; under testing/synctest it
// sleeps in fake time.
func NewPortable(clock Clock) *Portable {
	return &Portable{clock: clock, wake: make(chan struct{}, 1), timer: time.NewTimer(0)}
}

// Until implements Sleeper.
func (p *Portable) Until(due int64) {
	p.timer.Reset(time.Duration(max(due-p.clock.Now(), 0)))
	select {
	case <-p.timer.C:
	case <-p.wake:
	}
}

// Wake implements Sleeper.
func (p *Portable) Wake() {
	select {
	case p.wake <- struct{}{}:
	default: // a wake-up is pending already
	}
}
