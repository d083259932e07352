package hist

import (
	"fmt"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Bounds of a Duration histogram: one day, three significant digits.
const (
	maxDurationNS  = 24 * 3600 * 1_000_000_000
	durationDigits = 3
)

// Duration is an HdrHistogram of nanoseconds, 1 ns to one day at three
// significant digits; a value outside is recorded at the bound. It is not safe
// for concurrent use.
type Duration struct {
	h   *hdrhistogram.Histogram
	sum float64 // exact, where the histogram's own mean is rounded
}

// NewDuration returns an empty histogram.
func NewDuration() *Duration {
	return &Duration{h: hdrhistogram.New(1, maxDurationNS, durationDigits)}
}

// Record adds n times the value ns.
func (d *Duration) Record(ns, n int64) {
	ns = min(max(ns, 0), maxDurationNS)
	if err := d.h.RecordValues(ns, n); err != nil {
		panic(fmt.Sprintf("hist: %d ns is inside the bounds but was refused: %v", ns, err))
	}
	d.sum += float64(ns) * float64(n)
}

// Count returns how many values were recorded.
func (d *Duration) Count() int64 { return d.h.TotalCount() }

// Stats summarises what was recorded.
func (d *Duration) Stats() Stats {
	n := d.h.TotalCount()
	if n == 0 {
		return Stats{}
	}
	return statsFrom(n, d.sum/float64(n), 1e6, func(q float64) int64 {
		if q == 1 {
			return d.h.Max()
		}
		return valueAt(d.h, q)
	})
}

// valueAt returns the nearest-rank quantile, which the histogram's own method
// rounds to the rank below where it is closer.
func valueAt(h *hdrhistogram.Histogram, q float64) int64 {
	n := h.TotalCount()
	return h.ValueAtQuantile(100 * float64(rank(q, n)) / float64(n))
}

// Encode returns the histogram in HdrHistogram's compressed V2 form, base64.
// Histograms of several runs can be merged from it by any HdrHistogram library.
func (d *Duration) Encode() (string, error) {
	b, err := d.h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return "", fmt.Errorf("encode histogram: %w", err)
	}
	return string(b), nil
}
