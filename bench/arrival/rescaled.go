package arrival

import (
	"math/rand/v2"
	"time"
)

// rescaled is a Poisson process whose rate changes: the arrivals of one of rate 1,
// each moved to the time at which the expected number of arrivals reaches it.
type rescaled struct {
	pcg *rand.PCG
	// expected is how many arrivals are expected up to the last one.
	expected float64
	// when inverts the cumulative rate: the time in nanoseconds by which so many
	// arrivals are expected, +Inf where that is never. It ascends, and is asked in
	// ascending order.
	when      func(expected float64) float64
	horizonNS float64
}

// Next implements Schedule.
func (r *rescaled) Next() (time.Duration, bool) {
	r.expected += exponential(r.pcg)
	atNS := r.when(r.expected)
	if atNS >= r.horizonNS {
		return 0, false
	}
	return time.Duration(atNS), true
}
