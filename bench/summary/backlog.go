package summary

import (
	"math"

	"llmsim-bench/bench/record"
)

// Backlog is how many requests were due and had not ended, over the measured
// window of an open loop. Where it grows, the server takes less than is offered:
// latencies then depend on how long the run was, and no percentile of them is a
// property of the server.
type Backlog struct {
	Start int64 `json:"start"`
	End   int64 `json:"end"`
	Max   int64 `json:"max"` // of the moments looked at
	// GrowthPerS is the slope of the line of least squares through them, in
	// requests a second.
	GrowthPerS float64 `json:"growth_per_s"`
	// Unstable says that it grew by more than chance and by enough to matter.
	Unstable bool `json:"unstable"`
}

// Thresholds of Unstable. A server that just keeps up with Poisson arrivals has
// a backlog that drifts like a random walk, by about the root of the number of
// requests.
const (
	unstableShare      = 0.02 // growth as a share of the arrivals
	unstableDeviations = 3.0  // growth over the window, in roots of the number of arrivals
)

// backlogMoments is how many moments of the window are looked at, evenly spaced,
// its end included; the start is one more.
const backlogMoments = 100

// backlogCounter counts arrivals and ends between these moments, so that its
// memory does not grow with the run.
type backlogCounter struct {
	start, step float64 // ns
	// change at a moment: arrivals less ends since the moment before.
	change   [backlogMoments + 1]int64
	arrivals [backlogMoments + 1]int64
}

func newBacklogCounter(start, end record.Instant) *backlogCounter {
	return &backlogCounter{start: float64(start), step: float64(end-start) / backlogMoments}
}

func (b *backlogCounter) add(r *record.Request) {
	b.at(r.Sched, 1, true)
	b.at(r.End, -1, false)
}

// at counts a change at an instant at the first moment that sees it.
func (b *backlogCounter) at(t record.Instant, change int64, arrival bool) {
	if t == record.Unset {
		return
	}
	k := max(math.Ceil((float64(t)-b.start)/b.step), 0)
	if k > backlogMoments {
		return
	}
	b.change[int(k)] += change
	if arrival {
		b.arrivals[int(k)]++
	}
}

// backlog summarises the moments up to end; nil for fewer than three.
func (b *backlogCounter) backlog(end record.Instant) *Backlog {
	last := min(int(math.Floor((float64(end)-b.start)/b.step+1e-9)), backlogMoments)
	if last < 2 {
		return nil
	}
	out := &Backlog{Start: b.change[0]}
	var now, arrivals int64
	var sumT, sumY, sumTT, sumTY float64
	for k := 0; k <= last; k++ {
		now += b.change[k]
		if k > 0 {
			arrivals += b.arrivals[k]
		}
		out.Max = max(out.Max, now)
		t, y := float64(k)*b.step/1e9, float64(now)
		sumT, sumY, sumTT, sumTY = sumT+t, sumY+y, sumTT+t*t, sumTY+t*y
	}
	out.End = now
	n := float64(last + 1)
	out.GrowthPerS = (n*sumTY - sumT*sumY) / (n*sumTT - sumT*sumT)
	seconds := float64(last) * b.step / 1e9
	grown := out.GrowthPerS * seconds
	out.Unstable = grown > unstableShare*float64(arrivals) && grown > unstableDeviations*math.Sqrt(float64(arrivals))
	return out
}
