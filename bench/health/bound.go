package health

import "time"

// Bound is the most that the client itself can have added to one percentile.
type Bound struct {
	BoundMS      float64 `json:"bound_ms"`
	PercentileMS float64 `json:"percentile_ms"`
}

// BoundOf returns the bound for a percentile that was observed, where undelayed
// is the same percentile with what the client added taken out of each request.
func BoundOf(observed, undelayed time.Duration) Bound {
	return Bound{BoundMS: milliseconds(observed - undelayed), PercentileMS: milliseconds(observed)}
}

// share is the bound as a share of the percentile; 0 where there is nothing to
// share.
func (b Bound) share() float64 {
	if b.PercentileMS <= 0 {
		return 0
	}
	return b.BoundMS / b.PercentileMS
}
