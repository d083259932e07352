package arrival

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Step is a stretch of time at one rate, in requests per second. Rate 0 is a
// pause.
type Step struct {
	Rate float64
	For  time.Duration
}

func checkSteps(steps []Step) error {
	if len(steps) == 0 {
		return errors.New("arrival: there are no steps: there must be one or more, such as 10@30s")
	}
	total := time.Duration(0)
	for i, s := range steps {
		if err := checkRateOrNone(s.Rate); err != nil {
			return fmt.Errorf("%w (step %d)", err, i+1)
		}
		if s.For <= 0 || s.For > math.MaxInt64-total {
			return fmt.Errorf("arrival: a step of %v is not possible: it must be longer than 0, and all of them together at most %v (step %d)",
				s.For, time.Duration(math.MaxInt64), i+1)
		}
		total += s.For
	}
	if !slices.ContainsFunc(steps, func(s Step) bool { return s.Rate > 0 }) {
		return errors.New("arrival: every step has a rate of 0: one of them must be above 0")
	}
	return nil
}

func length(steps []Step) time.Duration {
	total := time.Duration(0)
	for _, s := range steps {
		total += s.For
	}
	return total
}

// Steps returns the arrivals over [0, horizon) of a Poisson process whose rate is
// constant in each step and changes at once from one to the next. There are none
// after the last step.
func Steps(steps []Step, horizon time.Duration, seed uint64) (Schedule, error) {
	if err := checkSteps(steps); err != nil {
		return nil, err
	}
	if err := checkHorizon(horizon); err != nil {
		return nil, err
	}
	left := slices.Clone(steps)
	var start, sum float64 // of the first step that is left: when it starts, in seconds, and the arrivals expected by then
	return &rescaled{
		pcg: rand.NewPCG(seed, stepsStream),
		when: func(n float64) float64 {
			for len(left) > 0 {
				s := left[0]
				if during := s.Rate * s.For.Seconds(); n >= sum+during {
					start, sum, left = start+s.For.Seconds(), sum+during, left[1:]
					continue
				}
				return (start + (n-sum)/s.Rate) * float64(time.Second)
			}
			return math.Inf(1)
		},
		horizonNS: float64(horizon),
	}, nil
}
