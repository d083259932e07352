package sleep

import (
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkLateness reports how late each sleeper wakes from sleeps of 2 ms, as
// p50-µs and p99-µs: with the cores idle, and with every core kept busy by
// other goroutines, where the sleeper has to win its processor back.
func BenchmarkLateness(b *testing.B) {
	for _, load := range []struct {
		name string
		busy int
	}{{"idle", 0}, {"busy", runtime.GOMAXPROCS(0)}} {
		clock := NewClock()
		for name, s := range sleepers(clock) {
			b.Run(load.name+"/"+name, func(b *testing.B) {
				var stop atomic.Bool
				defer stop.Store(true)
				for range load.busy {
					go func() {
						for !stop.Load() {
						}
					}()
				}
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				Tighten()
				late := make([]int64, 0, b.N)
				for b.Loop() {
					due := clock.Now() + int64(2*time.Millisecond)
					s.Until(due)
					late = append(late, clock.Now()-due)
				}
				slices.Sort(late)
				b.ReportMetric(float64(late[len(late)/2])/1e3, "p50-µs")
				b.ReportMetric(float64(late[len(late)*99/100])/1e3, "p99-µs")
			})
		}
	}
}
