package arrival

import (
	"errors"
	"math"
	"math/rand/v2"
	"time"
)

func checkRamp(from, to float64) error {
	if err := errors.Join(checkRateOrNone(from), checkRateOrNone(to)); err != nil {
		return err
	}
	if from == 0 && to == 0 {
		return errors.New("arrival: a ramp from 0 to 0 requests per second has no arrivals: one of the rates must be above 0")
	}
	return nil
}

// Ramp returns the arrivals of a Poisson process over [0, horizon) whose rate
// goes from one to another in a straight line, in requests per second. One of
// them may be 0.
func Ramp(from, to float64, horizon time.Duration, seed uint64) (Schedule, error) {
	if err := checkRamp(from, to); err != nil {
		return nil, err
	}
	if err := checkHorizon(horizon); err != nil {
		return nil, err
	}
	horizonS := horizon.Seconds()
	return &rescaled{
		pcg: rand.NewPCG(seed, rampStream),
		// By time t in seconds, n = from·t + (to−from)/(2·horizon)·t² arrivals are
		// expected. Of the two ways to write the root this one loses no digits
		// where both rates are the same, or nearly so.
		when: func(n float64) float64 {
			square := from*from + 2*(to-from)/horizonS*n
			if square < 0 { // more than all that a falling rate ever makes
				return math.Inf(1)
			}
			return 2 * n / (from + math.Sqrt(square)) * float64(time.Second)
		},
		horizonNS: float64(horizon),
	}, nil
}
