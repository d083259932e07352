package arrival

import (
	"math/rand/v2"
	"time"
)

// Poisson returns the arrivals of a Poisson process of rate requests per second
// over [0, horizon): independent exponential gaps, and so a number of arrivals
// that varies from seed to seed.
func Poisson(rate float64, horizon time.Duration, seed uint64) (Schedule, error) {
	if err := checkRate(rate); err != nil {
		return nil, err
	}
	if err := checkHorizon(horizon); err != nil {
		return nil, err
	}
	pcg := rand.NewPCG(seed, poissonStream)
	meanGapNS := float64(time.Second) / rate
	gapNS := func() float64 { return meanGapNS * exponential(pcg) }
	return &renewal{nextNS: gapNS(), gapNS: gapNS, horizonNS: float64(horizon)}, nil
}
