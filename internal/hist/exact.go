package hist

import (
	"maps"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Bounds of Exact: how many distinct values it keeps before it folds them, and
// the form it folds them into.
const (
	maxDistinct  = 1 << 16
	foldedMaxNS  = 3600 * 1_000_000_000
	foldedDigits = 5
)

// Exact keeps every distinct value with its count, so that simulated values are
// reported to the nanosecond. Past 65,536 distinct values it folds them into an
// HdrHistogram, of five significant digits if not told otherwise, so that its memory is bounded. It is
// not safe for concurrent use.
type Exact struct {
	counts map[int64]int64
	n      int64
	sum    float64
	digits int
	folded *hdrhistogram.Histogram
}

// NewExact returns an empty recorder that folds into five digits.
func NewExact() *Exact { return NewExactTo(foldedDigits) }

// NewExactTo returns an empty recorder that folds into so many significant
// digits, 1 to 5. A digit more takes ten times the memory.
func NewExactTo(digits int) *Exact { return &Exact{counts: make(map[int64]int64), digits: digits} }

// Record adds n times the value ns.
func (e *Exact) Record(ns, n int64) {
	e.n += n
	e.sum += float64(ns) * float64(n)
	if e.folded == nil {
		e.counts[ns] += n
		if len(e.counts) > maxDistinct {
			e.fold()
		}
		return
	}
	e.recordFolded(ns, n)
}

func (e *Exact) fold() {
	e.folded = hdrhistogram.New(1, foldedMaxNS, e.digits)
	for ns, n := range e.counts {
		e.recordFolded(ns, n)
	}
	e.counts = nil
}

func (e *Exact) recordFolded(ns, n int64) {
	// The error is for values out of bounds, which the clamp rules out.
	_ = e.folded.RecordValues(min(max(ns, 0), foldedMaxNS), n)
}

// Count returns how many values were recorded.
func (e *Exact) Count() int64 { return e.n }

// Stats summarises what was recorded, exactly until the values were folded.
func (e *Exact) Stats() Stats { return e.StatsIn(1e6) }

// StatsIn is Stats for values that are no durations: they come out divided by
// unit, for example by 1.
func (e *Exact) StatsIn(unit float64) Stats {
	if e.n == 0 {
		return Stats{}
	}
	return statsFrom(e.n, e.sum/float64(e.n), unit, e.quantiles())
}

// Quantile returns the nearest-rank quantile, 0 ≤ q ≤ 1; 0 for no values.
func (e *Exact) Quantile(q float64) int64 {
	if e.n == 0 {
		return 0
	}
	return e.quantiles()(q)
}

// quantiles returns a function of the nearest-rank quantile of what there is.
func (e *Exact) quantiles() func(q float64) int64 {
	if e.folded != nil {
		return func(q float64) int64 { return valueAt(e.folded, q) }
	}
	values := slices.Sorted(maps.Keys(e.counts))
	return func(q float64) int64 {
		want := rank(q, e.n)
		var seen int64
		for _, v := range values {
			seen += e.counts[v]
			if seen >= want {
				return v
			}
		}
		return values[len(values)-1]
	}
}

// StatsOf summarises values exactly. It sorts them in place.
func StatsOf(valuesNS []int64) Stats {
	slices.Sort(valuesNS)
	var sum float64
	for _, v := range valuesNS {
		sum += float64(v)
	}
	return statsFrom(int64(len(valuesNS)), sum/float64(max(len(valuesNS), 1)), 1e6, func(q float64) int64 {
		return Quantile(valuesNS, q)
	})
}
