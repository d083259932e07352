package health

import (
	"sync"
	"time"
)

// A wake-up this late is a stall. Less may be the timer's own rounding, which
// whoever waits for the network does not share.
const stallAfter = 2 * time.Millisecond

// maxStalls is how many are remembered, the latest ones.
const maxStalls = 1 << 14

// stalls remembers when wake-ups came late. It is safe for concurrent use.
type stalls struct {
	mu   sync.Mutex
	all  []stall // a ring once it is full
	next int     // where the next one goes
	due  int64   // the wake-up waited for; 0: none
}

// stall is a time in which the process did not run when it should have.
type stall struct{ from, to int64 }

// woke notes a wake-up that was due at one moment and came at another, and when
// the next one is due.
func (s *stalls) woke(due, at, next int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.due = next
	if at-due < int64(stallAfter) {
		return
	}
	if len(s.all) < maxStalls {
		s.all = append(s.all, stall{due, at})
		return
	}
	s.all[s.next] = stall{due, at}
	s.next = (s.next + 1) % maxStalls
}

// worst returns the longest stall that reaches into [from, to], one that lasts
// still included; 0 if there is none.
func (s *stalls) worst(from, to, now int64) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	var worst int64
	look := func(x stall) {
		if x.from <= to && x.to >= from && x.to-x.from >= int64(stallAfter) {
			worst = max(worst, x.to-x.from)
		}
	}
	for _, x := range s.all {
		look(x)
	}
	if s.due != 0 {
		look(stall{s.due, now})
	}
	return time.Duration(worst)
}
