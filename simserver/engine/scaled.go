package engine

import (
	"math"

	"llmsim-bench/internal/sleep"
)

// ScaledClock is the timeline's clock where the timeline runs Scale times as fast
// as the wall clock. Both begin at 0, so that everything stamped with it is on the
// timeline at once, and nothing is converted twice.
type ScaledClock struct {
	Wall  sleep.Clock
	Scale float64
}

// Now implements Clock.
func (c ScaledClock) Now() int64 { return int64(float64(c.Wall.Now()) * c.Scale) }

// NewSleeper returns the most precise Sleeper of this platform for moments of the
// timeline.
func (c ScaledClock) NewSleeper() sleep.Sleeper { return c.Sleeper(sleep.New(c.Wall)) }

// Sleeper turns a Sleeper of the wall clock into one of the timeline's.
func (c ScaledClock) Sleeper(wall sleep.Sleeper) sleep.Sleeper { return scaledSleeper{wall, c.Scale} }

// scaledSleeper is a sleep.Sleeper whose moments are the timeline's.
type scaledSleeper struct {
	sleep.Sleeper
	scale float64
}

// Until implements sleep.Sleeper.
func (s scaledSleeper) Until(due int64) {
	// Up, so that the timeline's clock has reached due.
	wall := math.Ceil(float64(due) / s.scale)
	if wall >= math.MaxInt64 { // as for a due time of never
		s.Sleeper.Until(math.MaxInt64)
		return
	}
	s.Sleeper.Until(int64(wall))
}
