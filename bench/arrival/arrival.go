// Package arrival says when requests are due. A seed and the numbers of a
// process go in; due times, absolute and ascending, come out. It knows nothing
// of what is asked, and no clock: a schedule is the same whatever happens to
// the requests.
//
// Schedules are drawn as they are asked for, so that a long one costs no memory.
// They depend on their arguments alone, and stay the same from one Go release to
// the next.
package arrival

import (
	"fmt"
	"time"
)

// A Schedule hands out due times one after the other.
type Schedule interface {
	// Next returns the next due time, counted from the start of the run and
	// never before the one returned last. It is false after the last one.
	Next() (due time.Duration, ok bool)
}

// MaxRate is the highest rate accepted, in requests per second: above it a gap
// is shorter than what any client can send in.
const MaxRate = 1e6

func checkRate(rate float64) error {
	if !(rate > 0 && rate <= MaxRate) { // a NaN fails every comparison
		return fmt.Errorf("arrival: a rate of %v requests per second is not possible: it must be above 0 and at most %.0f", rate, float64(MaxRate))
	}
	return nil
}

// checkRateOrNone is checkRate where a part of a schedule may be a pause.
func checkRateOrNone(rate float64) error {
	if !(rate >= 0 && rate <= MaxRate) {
		return fmt.Errorf("arrival: a rate of %v requests per second is not possible: it must be 0 or more and at most %.0f", rate, float64(MaxRate))
	}
	return nil
}

func checkHorizon(horizon time.Duration) error {
	if horizon <= 0 {
		return fmt.Errorf("arrival: a schedule of %v is not possible: it must be longer than 0", horizon)
	}
	return nil
}
