package arrival

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// MaxRate is the highest rate accepted, in requests per second: above it a gap
// is shorter than what any client can send in.
const MaxRate = 1e6

// poissonStream keeps the draws of this process apart from those of others
// that are given the same seed.
const poissonStream = 0x706f6973736f6e31

// poisson draws its gaps one by one, so that a long schedule costs no memory.
type poisson struct {
	pcg       *rand.PCG
	meanGapNS float64
	nowNS     float64
	horizonNS float64
}

// Poisson returns the arrivals of a Poisson process of rate requests per second
// over [0, horizon): independent exponential gaps, and so a number of arrivals
// that varies from seed to seed. They depend on the arguments alone, and stay
// the same from one Go release to the next.
func Poisson(rate float64, horizon time.Duration, seed uint64) (Schedule, error) {
	if !(rate > 0 && rate <= MaxRate) { // a NaN fails every comparison
		return nil, fmt.Errorf("arrival: a rate of %v requests per second is not possible: it must be above 0 and at most %.0f", rate, float64(MaxRate))
	}
	if horizon <= 0 {
		return nil, fmt.Errorf("arrival: a schedule of %v is not possible: it must be longer than 0", horizon)
	}
	return &poisson{
		pcg:       rand.NewPCG(seed, poissonStream),
		meanGapNS: float64(time.Second) / rate,
		horizonNS: float64(horizon),
	}, nil
}

// Next implements Schedule.
func (p *poisson) Next() (time.Duration, bool) {
	p.nowNS += p.meanGapNS * exponential(p.pcg)
	if p.nowNS >= p.horizonNS {
		// An endless gap: every later call ends here too.
		p.nowNS = math.Inf(1)
		return 0, false
	}
	return time.Duration(p.nowNS), true
}

// exponential draws from the exponential distribution of mean 1 by inversion:
// -ln(u), u uniform on the open interval (0, 1). Unlike rand.ExpFloat64, its
// use of the generator is ours to keep.
func exponential(pcg *rand.PCG) float64 {
	const steps = 1 << 53
	u := (float64(pcg.Uint64()>>11) + 0.5) / steps
	return -math.Log(u)
}
