package transport

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Timestamps says whose word it is when bytes came.
type Timestamps int

const (
	TimestampsAuto   Timestamps = iota // the kernel's where it gives it, else our own
	TimestampsKernel                   // the kernel's; a connection that can't have it fails
	TimestampsUser                     // our own: when the read returned
)

var timestampNames = [...]string{TimestampsAuto: "auto", TimestampsKernel: "kernel", TimestampsUser: "user"}

// ParseTimestamps reads auto, kernel or user.
func ParseTimestamps(name string) (Timestamps, error) {
	for mode, known := range timestampNames {
		if name == known {
			return Timestamps(mode), nil
		}
	}
	return 0, fmt.Errorf("bad timestamps %q; want auto, kernel or user", name)
}

// String returns what ParseTimestamps reads.
func (t Timestamps) String() string {
	if t < 0 || int(t) >= len(timestampNames) {
		return fmt.Sprintf("Timestamps(%d)", int(t))
	}
	return timestampNames[t]
}

// stamps turns the kernel's stamps, which are times of day, into moments of the
// pool's clock. It is shared by the pool's connections.
type stamps struct {
	now  func() int64 // the pool's clock
	wall func() int64 // the time of day

	kernel, user atomic.Int64 // reads of answers, by whose word At is

	mu    sync.Mutex
	watch stepWatch
}

// wallClock is CLOCK_REALTIME, the clock of the kernel's stamps.
func wallClock() int64 { return time.Now().UnixNano() }

// begin takes a reading before anything can be stamped, for the ones to come.
func (s *stamps) begin() {
	r := readClocks(s.now, s.wall, s.now())
	s.trusts(r, r.before)
}

func (s *stamps) trusts(r reading, notBefore int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.watch.trusts(r, notBefore)
}

// place returns when bytes came that a read returned just now, and whether that
// is the kernel's word: stamp is the kernel's, 0 if there is none.
func (s *stamps) place(stamp, notBefore int64, waited bool) (came Received, kernel bool) {
	read := s.now()
	came = Received{NotBefore: notBefore, At: read, Read: read, Waited: waited}
	if stamp == 0 {
		return came, false
	}
	r := readClocks(s.now, s.wall, read)
	if !s.trusts(r, notBefore) {
		return came, false
	}
	// The end of the reading, so that At is not before the true moment.
	came.At = min(max(r.after-(r.real-stamp), notBefore), read)
	return came, true
}

// count counts a read by whose word its At is.
func (s *stamps) count(kernel bool) {
	if kernel {
		s.kernel.Add(1)
	} else {
		s.user.Add(1)
	}
}

// addTo adds what was counted.
func (s *stamps) addTo(stats *Stats) {
	stats.KernelStamps, stats.UserStamps = s.kernel.Load(), s.user.Load()
	s.mu.Lock()
	defer s.mu.Unlock()
	stats.ClockSteps = s.watch.steps
}
