package sleep

import (
	"math"
	"testing"
	"testing/synctest"
	"time"
)

func TestPortableSleepsUntilDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := NewClock()
		s := NewPortable(clock)
		for _, due := range []int64{int64(time.Millisecond), int64(time.Hour), 0} {
			start := clock.Now()
			s.Until(due)
			if got, want := clock.Now(), max(due, start); got != want {
				t.Errorf("until %d: woke at %d", want, got)
			}
		}
	})
}

// sleepers are all kinds that this platform has.
func sleepers(clock Clock) map[string]Sleeper {
	return map[string]Sleeper{"native": New(clock), "portable": NewPortable(clock)}
}

func TestUntilNeverReturnsEarly(t *testing.T) {
	clock := NewClock()
	for name, s := range sleepers(clock) {
		for range 20 {
			due := clock.Now() + int64(200*time.Microsecond)
			s.Until(due)
			if now := clock.Now(); now < due {
				t.Errorf("%s: woke %v early", name, time.Duration(due-now))
			}
		}
	}
}

func TestWakeEndsOneSleep(t *testing.T) {
	clock := NewClock()
	for name, s := range sleepers(clock) {
		t.Run(name, func(t *testing.T) {
			s.Wake() // before: the next sleep returns at once
			s.Until(math.MaxInt64)

			woken := make(chan struct{})
			go func() {
				s.Until(math.MaxInt64)
				close(woken)
			}()
			s.Wake() // during
			<-woken

			due := clock.Now() + int64(time.Millisecond)
			s.Until(due) // no wake-up is left over
			if clock.Now() < due {
				t.Error("one wake-up ended two sleeps")
			}
		})
	}
}

func TestSleepDoesNotAllocate(t *testing.T) {
	clock := NewClock()
	for name, s := range sleepers(clock) {
		if n := testing.AllocsPerRun(100, func() { s.Until(clock.Now() + 1000) }); n > 0 {
			t.Errorf("%s: %v allocations a sleep", name, n)
		}
	}
}
