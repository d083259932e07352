package bench

import (
	"math"
	"strings"
	"testing"
	"time"

	"llmsim-bench/bench/arrival"
	"llmsim-bench/bench/load"
	"llmsim-bench/bench/workload"
)

func TestImpossibleWorkloads(t *testing.T) {
	const day = 24 * time.Hour
	good := Workload{Loads: []Load{AtRate(1)}, Duration: 30 * day, Warmup: 30 * day, Shape: workload.Exactly(1, 1)}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		change func(*Workload)
		says   string
	}{
		{func(w *Workload) { w.Loads = nil }, "there is no load"},
		{func(w *Workload) { w.Loads[0].Arrivals.Rate = 1000 }, "is more than 1e+09 requests"},
		{func(w *Workload) { w.Duration = 0 }, "duration 0s is not possible"},
		{func(w *Workload) { w.Duration++ }, "at most 720h0m0s"},
		{func(w *Workload) { w.Warmup++ }, "warm-up 720h0m0.000000001s is not possible, must be 0 to 720h0m0s"},
		{func(w *Workload) { w.Warmup = -1 }, "warm-up -1ns"},
		{func(w *Workload) { w.Warmup, w.Duration = math.MaxInt64, math.MaxInt64 }, "warm-up"},
		{func(w *Workload) { w.Shape.Prompt = workload.Fixed(0) }, "prompts of 0 tokens"},
		{func(w *Workload) { w.Loads[0] = Users(-1) }, "concurrency -1"},
		{func(w *Workload) { w.Loads[0].Concurrency = 2 }, "must be one of them"},
		{func(w *Workload) { w.Loads[0].Think = 1 }, "not possible in an open loop"},
		{func(w *Workload) { w.Loads[0] = Load{Concurrency: 1, Think: -1} }, "think time of -1ns"},
		{func(w *Workload) { w.Loads[0].Arrivals.Kind = arrival.KindTrace }, "need its requests too"},
		{func(w *Workload) { w.Loads[0].Arrivals = arrival.Process{Kind: arrival.KindBurst} }, "burst"},
	} {
		w := good
		w.Loads = []Load{AtRate(1)}
		c.change(&w)
		if err := w.Check(); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("error %v, want one with %q", err, c.says)
		}
	}
	timeout := Config{URL: "http://host/v1", Workload: good, Timeouts: load.Timeouts{Total: 31 * day}}
	if err := timeout.check(); err == nil || !strings.Contains(err.Error(), "timeout 744h0m0s is not possible") {
		t.Errorf("error %v, want that the timeout is too long", err)
	}
}
