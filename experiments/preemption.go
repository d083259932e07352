package experiments

import (
	"time"

	"llmsim-bench/bench"
	"llmsim-bench/bench/arrival"
	"llmsim-bench/bench/workload"
)

// preemption is E5.
func preemption() Experiment {
	const small, with, without = "small cache", "watermark 1 %", "watermark 0"
	burst := bench.Load{Arrivals: arrival.Process{Kind: arrival.KindBurst, Requests: 64}}
	short := workload.Shape{Prompt: workload.Fixed(128), Output: workload.Fixed(2000)}
	long := workload.Shape{Prompt: workload.Lengths{Min: 512, Max: 4096}, Output: workload.Lengths{Min: 512, Max: 2048}}
	e := Experiment{
		ID: "E5", Title: "Preemption",
		Question: "Sixty-four requests at once that outgrow the cache together: how often do sequences lose their blocks, and how long do their clients wait? " +
			"What does a watermark of 1 % change?",
		Meaning: "The median time between tokens shows nothing of it, while a few streams freeze for a long time and then go on. " +
			"A gateway's timeouts should be tested against exactly that.",
		Cases: []Case{
			{Name: small, Model: smallCache, Load: burst, Shape: short, Duration: time.Second, TimeScale: 6},
			{Name: with, Model: base, Load: burst, Shape: long, Duration: time.Second, TimeScale: 4},
			{Name: without, Model: changed("kv_cache.watermark", "0"), Load: burst, Shape: long, Duration: time.Second, TimeScale: 4},
		},
		Plot: Plot{Quantity: "itl_max", Beside: []string{"itl_p50"}, Axis: "longest and median time between tokens", Log: true},
	}
	for _, name := range []string{small, with, without} {
		e.Expect = append(
			e.Expect,
			Expectation{Case: name, Quantity: "preemptions", Interval: spread(), Article: map[string]string{small: "about 130", with: "9 % fewer than without, on a load of its own"}[name]},
			Expectation{Case: name, Quantity: "itl_p50", Interval: spread(), Article: map[string]string{small: "7.9 ms"}[name]},
			Expectation{Case: name, Quantity: "itl_max", Interval: spread(), Article: map[string]string{small: "up to 50 s"}[name]},
			Expectation{Case: name, Quantity: "e2e_max", Interval: spread()},
		)
	}
	e.Expect = append(
		e.Expect,
		Expectation{Case: with, Over: without, Quantity: "preemptions", Interval: spread(), Article: "0.91, on a load of its own"},
		Expectation{Case: with, Over: without, Quantity: "e2e_max", Interval: spread(), Article: "no cost in time"},
	)
	return e
}
