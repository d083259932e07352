package selftest

import (
	"context"
	"runtime"

	"llmsim-bench/bench/arrival"
	"llmsim-bench/bench/load"
	"llmsim-bench/bench/record"
	"llmsim-bench/internal/hist"
	"llmsim-bench/internal/sleep"
)

// dispatch measures the dispatcher's lateness beside that of a bare sleeper with
// the same schedule: what is more than the sleeper's, the dispatcher adds.
func (t *test) dispatch() error {
	p := t.o.Plan
	rate := min(p.DispatchRate, t.result.Requests.Sustained)
	if rate <= 0 || p.Dispatch <= 0 {
		return nil
	}
	t.say("dispatch at %.0f requests/s", rate)
	window := load.Window{Warmup: p.Requests.Warmup, Measure: p.Dispatch}
	bare, err := startBareSleeper(t.ctx, t.client.clock, rate, window, t.client.seed)
	if err != nil {
		return err
	}
	var delays []int64
	_, err = t.client.run(t.ctx, requestShape(rate, Stage{Warmup: window.Warmup, Window: window.Measure}), func(rec *record.Request) {
		if rec.Phase == record.PhaseMeasure && rec.Dispatch != record.Unset {
			delays = append(delays, int64(rec.Dispatch-rec.Sched))
		}
	})
	late := <-bare
	if err != nil {
		return err
	}
	t.result.Dispatch = &Dispatch{RequestsPerS: rate, Delay: latenessOf(delays), Sleeper: latenessOf(late)}
	return nil
}

// startBareSleeper sleeps on a thread of its own until each arrival of a
// schedule, and sends how late it woke in the measured window, in ns.
func startBareSleeper(ctx context.Context, clock sleep.Clock, rate float64, window load.Window, seed uint64) (<-chan []int64, error) {
	schedule, err := arrival.Poisson(rate, window.End(), seed)
	if err != nil {
		return nil, err
	}
	out := make(chan []int64, 1)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with its timer slack
		sleep.Tighten()
		sleeper := sleep.New(clock)
		start := clock.Now()
		late := make([]int64, 0, int(2*rate*window.Measure.Seconds())+16)
		for ctx.Err() == nil {
			at, ok := schedule.Next()
			if !ok {
				break
			}
			due := start + int64(at)
			sleeper.Until(due)
			if at >= window.Warmup {
				late = append(late, max(clock.Now()-due, 0))
			}
		}
		out <- late
	}()
	return out, nil
}

func latenessOf(ns []int64) Lateness {
	s := hist.StatsOf(ns)
	return Lateness{Count: s.Count, P50: s.P50, P99: s.P99}
}

// Ratios returns the dispatcher's lateness as multiples of the sleeper's; 0 where
// there is nothing to compare.
func (d *Dispatch) Ratios() (p50, p99 float64) { return d.Delay.over(d.Sleeper) }
