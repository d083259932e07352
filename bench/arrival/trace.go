package arrival

import (
	"errors"
	"fmt"
	"time"
)

func checkTimes(times []time.Duration) error {
	if len(times) == 0 {
		return errors.New("arrival: there are no times: there must be one or more")
	}
	last := time.Duration(0)
	for i, at := range times {
		switch {
		case at < 0:
			return fmt.Errorf("arrival: time %d is %v: it must be 0 or more", i+1, at)
		case at < last:
			return fmt.Errorf("arrival: time %d, %v, is before the one ahead of it, %v: the times must ascend", i+1, at, last)
		}
		last = at
	}
	return nil
}

// trace hands out times that are known beforehand.
type trace struct {
	left    []time.Duration
	horizon time.Duration
}

// Trace returns arrivals at those of the given times that are before horizon.
// The times ascend and count from the start of the run; they are kept, and must
// not be changed while the schedule is in use.
func Trace(times []time.Duration, horizon time.Duration) (Schedule, error) {
	if err := checkTimes(times); err != nil {
		return nil, err
	}
	if err := checkHorizon(horizon); err != nil {
		return nil, err
	}
	return &trace{times, horizon}, nil
}

// Next implements Schedule.
func (t *trace) Next() (time.Duration, bool) {
	if len(t.left) == 0 || t.left[0] >= t.horizon {
		return 0, false
	}
	due := t.left[0]
	t.left = t.left[1:]
	return due, true
}
