package bench

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"llmsim-bench/bench/load"
	"llmsim-bench/bench/record"
)

var shortWindow = load.Window{Warmup: time.Second, Measure: 2 * time.Second}

func TestStage(t *testing.T) {
	for _, c := range []struct {
		elapsed time.Duration
		more    int
		phase   string
		left    time.Duration
	}{
		{0, 0, record.PhaseWarmup, 3 * time.Second},
		{999 * time.Millisecond, 2, record.PhaseWarmup, 8001 * time.Millisecond},
		{time.Second, 0, record.PhaseMeasure, 2 * time.Second},
		{2 * time.Second, 1, record.PhaseMeasure, 4 * time.Second},
		{3 * time.Second, 0, "drain", 0},
		{time.Minute, 0, "drain", 0},
		{time.Minute, 2, "drain", 6 * time.Second},
	} {
		if phase, left := stage(c.elapsed, shortWindow, c.more); phase != c.phase || left != c.left {
			t.Errorf("after %v with %d more points: %s, %v left; want %s, %v", c.elapsed, c.more, phase, left, c.phase, c.left)
		}
	}
}

func TestOutlast(t *testing.T) {
	const limit, grace = 10 * time.Second, 3 * time.Second
	for _, c := range []struct{ end, want time.Duration }{
		{time.Hour, limit}, {0, grace}, {4 * time.Second, 4*time.Second + grace}, {9 * time.Second, limit},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), c.end)
			defer cancel()
			longer, done := outlast(ctx, limit, grace)
			defer done()
			began := time.Now()
			<-longer.Done()
			if got := time.Since(began); got != c.want {
				t.Errorf("it ended after %v, want %v, where the run ends after %v", got, c.want, c.end)
			}
		})
	}
}
