package engine

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"llmsim-bench/internal/sleep"
)

// The timeline is the same at every speed; only the wall clock is not.
func TestScaledTime(t *testing.T) {
	for _, scale := range []float64{0.5, 1, 10} {
		synctest.Test(t, func(t *testing.T) {
			wall := sleep.NewClock()
			clock := ScaledClock{wall, scale}
			e, err := NewFixedRate(simFixed, clock, clock.Sleeper(sleep.NewPortable(wall)))
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			time.Sleep(time.Second)
			arrival := wall.Now()
			out := newOutlet(wall)
			r := &Request{Plan: planOf(512, 64), Arrival: clock.Now(), Outlet: out}
			e.Submit(r)
			if err := <-out.done; err != nil {
				t.Fatal(err)
			}
			for i, rel := range out.released {
				simulated := 7120*time.Microsecond + time.Duration(i)*4*time.Millisecond
				if got := time.Duration(r.Timelines[0].Due[i] - r.Arrival); got != simulated {
					t.Errorf("×%v: token %d due %v after its arrival, want %v", scale, i, got, simulated)
				}
				want := time.Duration(float64(simulated) / scale)
				// A nanosecond of the timeline may be less than one of the wall clock.
				if got := time.Duration(rel.at - arrival); got < want-1 || got > want+1 {
					t.Errorf("×%v: token %d released after %v, want %v", scale, i, got, want)
				}
			}
		})
	}
}

func TestScaledSleeperWaitsForever(t *testing.T) {
	inner := new(lastUntil)
	ScaledClock{Scale: 0.001}.Sleeper(inner).Until(never)
	if *inner != math.MaxInt64 {
		t.Errorf("slept until %d, want never", *inner)
	}
}

// lastUntil is a sleeper that only remembers.
type lastUntil int64

func (l *lastUntil) Until(due int64) { *l = lastUntil(due) }
func (*lastUntil) Wake()             {}
