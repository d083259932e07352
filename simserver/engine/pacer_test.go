package engine

import (
	"testing"
	"time"
)

// What falls due in the pacer's rest after a release waits for its end, and
// nothing else waits.
func TestPacerRestsAfterARelease(t *testing.T) {
	inFakeTime(t, func(t *testing.T, clock Clock, e *FixedRate) {
		arrivals := []int64{0, DefaultRest / 2, 3 * DefaultRest / 4, 3 * DefaultRest}
		outs := make([]*outlet, len(arrivals))
		requests := make([]Request, len(arrivals))
		for i, at := range arrivals {
			outs[i] = newOutlet(clock)
			requests[i] = Request{Plan: planOf(0, 1), Arrival: at, Outlet: outs[i]}
			e.Submit(&requests[i])
		}
		for i, late := range []int64{0, DefaultRest / 2, DefaultRest / 4, 0} {
			if err := <-outs[i].done; err != nil {
				t.Fatal(err)
			}
			if got := outs[i].released[0].at - requests[i].Timelines[0].Due[0]; got != late {
				t.Errorf("request %d: released %v late, want %v", i, time.Duration(got), time.Duration(late))
			}
		}
	})
}
