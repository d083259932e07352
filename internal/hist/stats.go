// Package hist turns durations into percentiles: exact ones from values kept
// as they are, and mergeable ones from an HdrHistogram. Values go in as
// nanoseconds; Stats come out in milliseconds.
package hist

import "math"

// Stats describes a distribution. All but Count are milliseconds, unless its
// place says another unit.
type Stats struct {
	Count int64   `json:"count"`
	Mean  float64 `json:"mean"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P95   float64 `json:"p95"`
	P99   float64 `json:"p99"`
	Max   float64 `json:"max"`
}

// rank returns the 1-based nearest rank of quantile q among n values: the
// smallest r for which at least q·n values are at or below the r-th.
func rank(q float64, n int64) int64 {
	// The tolerance keeps 0.95·20 = 19.000000000000004 from becoming 20.
	r := int64(math.Ceil(q*float64(n) - 1e-9))
	return min(max(r, 1), n)
}

// Quantile returns the nearest-rank quantile q, 0 ≤ q ≤ 1, of values sorted in
// ascending order. It is 0 for no values.
func Quantile(sorted []int64, q float64) int64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[rank(q, int64(len(sorted)))-1]
}

// statsFrom fills Stats, in the given unit, from a quantile function over n values.
func statsFrom(n int64, mean, unit float64, quantile func(q float64) int64) Stats {
	if n == 0 {
		return Stats{}
	}
	at := func(q float64) float64 { return float64(quantile(q)) / unit }
	return Stats{
		Count: n, Mean: mean / unit,
		P50: at(0.50), P90: at(0.90), P95: at(0.95), P99: at(0.99), Max: at(1),
	}
}
