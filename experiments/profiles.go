package experiments

import (
	"time"

	"llmsim-bench/bench"
	"llmsim-bench/bench/arrival"
	"llmsim-bench/bench/workload"
)

// profiles is E10.
func profiles() Experiment {
	const article, vllm = "article", "vllm-0.23"
	const loadLight, loadFull, loadBurst = ", 40/s", ", 100/s", ", burst"
	e := Experiment{
		ID: "E10", Title: "Scheduler profile",
		Question: "The same load on the article's scheduler and on that of vLLM 0.23: what do asynchronous scheduling, no watermark and the prefix cache change?",
		Meaning: "An engine's release is part of what is measured. With asynchronous scheduling a request waits for a step more, with the prefix cache it computes less, " +
			"without a watermark more sequences are let in and lose their blocks again.",
		Plot:  Plot{Quantity: "ttft_p50", Axis: "profile and load", Log: true},
		Quick: Quick{Cases: []string{article + loadLight, vllm + loadLight}},
	}
	for _, profile := range []string{article, vllm} {
		m := base
		if profile != article {
			m = changed("scheduler.profile", profile)
		}
		shape := workload.Shape{Prompt: workload.Fixed(512), Output: workload.Fixed(64), SharedPrefix: 256}
		for _, c := range []struct {
			name string
			rate float64
		}{{loadLight, 40}, {loadFull, 100}} {
			e.Cases = append(e.Cases, Case{
				Name: profile + c.name, Model: m, Load: bench.AtRate(c.rate), Shape: shape,
				Warmup: 2 * time.Second, Duration: 6 * time.Second,
			})
			for _, q := range []string{"ttft_p50", "itl_p50", "step_p50", "batch_mean", "kv_use_mean", "rate"} {
				e.Expect = append(e.Expect, Expectation{Case: profile + c.name, Quantity: q, Interval: spread()})
			}
		}
		e.Cases = append(e.Cases, Case{
			Name: profile + loadBurst, Model: m,
			Load:     bench.Load{Arrivals: arrival.Process{Kind: arrival.KindBurst, Requests: 64}},
			Shape:    workload.Shape{Prompt: workload.Lengths{Min: 512, Max: 4096}, Output: workload.Lengths{Min: 512, Max: 1024}},
			Duration: time.Second, TimeScale: 4,
		})
		for _, q := range []string{"preemptions", "itl_p50", "itl_max", "e2e_max"} {
			e.Expect = append(e.Expect, Expectation{Case: profile + loadBurst, Quantity: q, Interval: spread()})
		}
	}
	for _, load := range []string{loadLight, loadFull} {
		e.Expect = append(e.Expect, Expectation{Case: vllm + load, Over: article + load, Quantity: "ttft_p50", Interval: spread()})
	}
	e.Expect = append(
		e.Expect,
		Expectation{Case: vllm + loadFull, Over: article + loadFull, Quantity: "rate", Interval: spread()},
	)
	return e
}
