package arrival

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Bounds of the burstiness. Below, nearly all gaps are too short to be told from
// none; above, they can't be told from a constant one.
const (
	MinBurstiness = 0.001
	MaxBurstiness = 1e6
)

func checkBurstiness(burstiness float64) error {
	if !(burstiness >= MinBurstiness && burstiness <= MaxBurstiness) {
		return fmt.Errorf("arrival: a burstiness of %v is not possible: it must be %v to %.0f, where 1 is a Poisson process and less is burstier",
			burstiness, MinBurstiness, float64(MaxBurstiness))
	}
	return nil
}

// Gamma returns arrivals at rate requests per second over [0, horizon) whose gaps
// are independent and have the gamma distribution of shape burstiness and mean
// 1/rate. The name and its meaning are those of vLLM's benchmark: 1 is a Poisson
// process, less is burstier, more is more regular. The coefficient of variation
// of the gaps is 1/√burstiness.
//
// The process is under way when the schedule starts: the time of the first
// arrival has the distribution of what is left of a gap at a random moment, so
// that every stretch of the schedule expects as many arrivals as its rate says.
// (Started with a whole gap, a bursty one would expect more near its start.)
func Gamma(rate, burstiness float64, horizon time.Duration, seed uint64) (Schedule, error) {
	if err := checkRate(rate); err != nil {
		return nil, err
	}
	if err := checkBurstiness(burstiness); err != nil {
		return nil, err
	}
	if err := checkHorizon(horizon); err != nil {
		return nil, err
	}
	pcg := rand.NewPCG(seed, gammaStream)
	scaleNS := float64(time.Second) / (rate * burstiness)
	// A random moment falls into a gap with a probability in proportion to its
	// length, which makes a gamma distribution one of a shape 1 higher, and
	// anywhere in it alike.
	return &renewal{
		nextNS:    scaleNS * gammaVariate(pcg, burstiness+1) * uniform(pcg),
		gapNS:     func() float64 { return scaleNS * gammaVariate(pcg, burstiness) },
		horizonNS: float64(horizon),
	}, nil
}
