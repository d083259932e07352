package load

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"llmsim-bench/bench/arrival"
	"llmsim-bench/bench/record"
	"llmsim-bench/internal/sleep"
)

// heapAfter is what is in use once the garbage is gone.
func heapAfter() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// A run five times as long holds no more: nothing of a request is kept.
func TestMemoryDoesNotGrowWithTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const rate, early, late = 1000, 4_000, 20_000
		clock := sleep.NewClock()
		schedule, err := arrival.Poisson(rate, time.Hour, 1)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var ended, atFirst, atLast int64
		d, err := New(Options{
			Source: NewOpen(schedule, Window{Measure: time.Hour}, asks{}, 0), Do: serve(clock, 20*time.Millisecond),
			DrainTimeout: time.Minute, Clock: clock, Sleeper: sleep.NewPortable(clock),
			OnRecord: func(*record.Request) {
				switch ended++; ended {
				case early:
					atFirst = heapAfter()
				case late:
					atLast = heapAfter()
					cancel()
				}
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Run(ctx); err != nil {
			t.Fatal(err)
		}
		// A record kept is 500 bytes or more.
		if grown := atLast - atFirst; grown > (late-early)*50 {
			t.Errorf("%d more requests hold %d bytes more", late-early, grown)
		}
	})
}
