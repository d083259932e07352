package health

import (
	"fmt"
	"slices"
	"time"

	"llmsim-bench/internal/hist"
)

// Bound is the most that the client itself can have added to one percentile.
type Bound struct {
	BoundMS      float64 `json:"bound_ms"`
	PercentileMS float64 `json:"percentile_ms"`
}

// BoundOf returns the bound for quantile q, 0 ≤ q ≤ 1, of latencies of which
// addedNS[i] of observedNS[i] is what the client added to request i: the quantile
// as observed less the quantile of what is left. Both are 0 for no values. It
// panics if the slices differ in length; it changes neither.
func BoundOf(observedNS, addedNS []int64, q float64) Bound {
	if len(observedNS) != len(addedNS) {
		panic(fmt.Sprintf("health: %d latencies came with %d delays; each needs its own", len(observedNS), len(addedNS)))
	}
	observed := slices.Sorted(slices.Values(observedNS))
	rest := make([]int64, len(observedNS))
	for i := range rest {
		rest[i] = observedNS[i] - addedNS[i]
	}
	slices.Sort(rest)
	percentile := hist.Quantile(observed, q)
	return Bound{
		BoundMS:      milliseconds(time.Duration(percentile - hist.Quantile(rest, q))),
		PercentileMS: milliseconds(time.Duration(percentile)),
	}
}

// share is the bound as a share of the percentile; 0 where there is nothing to
// share.
func (b Bound) share() float64 {
	if b.PercentileMS <= 0 {
		return 0
	}
	return b.BoundMS / b.PercentileMS
}
