package arrival

import "time"

// renewal adds up gaps that are drawn one by one.
type renewal struct {
	nextNS    float64 // the next arrival
	gapNS     func() float64
	horizonNS float64
}

// Next implements Schedule.
func (r *renewal) Next() (time.Duration, bool) {
	if r.nextNS >= r.horizonNS {
		return 0, false
	}
	due := time.Duration(r.nextNS)
	r.nextNS += r.gapNS()
	return due, true
}
