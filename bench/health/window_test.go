package health

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"llmsim-bench/internal/sleep"
)

// The monitor wakes a hundred times a second: its count says how long it watched.
func TestHealthIsThatOfTheMeasuredWindow(t *testing.T) {
	for name, c := range map[string]struct {
		interrupted, ended time.Duration
		wakeUps            int64
	}{
		"to the end of the drain":   {time.Hour, 10 * time.Second, 200},
		"until the last answer":     {time.Hour, 1505 * time.Millisecond, 50},
		"until Ctrl-C":              {1805 * time.Millisecond, 10 * time.Second, 80},
		"Ctrl-C in the warm-up":     {500 * time.Millisecond, 10 * time.Second, 0},
		"an answer in the warm-up":  {time.Hour, 500 * time.Millisecond, 0},
		"Ctrl-C long after the end": {9 * time.Second, 10 * time.Second, 200},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), c.interrupted)
				defer cancel()
				begins, ends := 0, 0
				stop := NewMonitor(sleep.NewClock()).WatchWindow(ctx, time.Second, 2*time.Second, func(begin bool) {
					if begin {
						begins++
					} else {
						ends++
					}
				})
				time.Sleep(c.ended)
				if got := stop().Lateness.Count; got != c.wakeUps {
					t.Errorf("%d wake-ups, want %d", got, c.wakeUps)
				}
				if begins != 1 || ends != 1 {
					t.Errorf("the window began %d times and ended %d times", begins, ends)
				}
			})
		})
	}
}
