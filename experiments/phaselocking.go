package experiments

import (
	"time"

	"llmsim-bench/bench"
	"llmsim-bench/bench/arrival"
	"llmsim-bench/bench/workload"
)

// phaseLocking is E8.
func phaseLocking() Experiment {
	const fixed, jittered, open = "fixed lengths", "jittered lengths", "open loop"
	const users = 64
	c := func(name string, l bench.Load, shape workload.Shape) Case {
		return Case{Name: name, Model: base, Load: l, Shape: shape, Warmup: 4 * time.Second, Duration: 10 * time.Second}
	}
	same := workload.Shape{Prompt: workload.Fixed(loopPrompt), Output: workload.Fixed(loopOutput)}
	e := Experiment{
		ID: "E8", Title: "Phase-locking",
		Question: "Do fixed lengths in a closed loop make streams run in step, and is that why their time to first token is so long? " +
			"The control keeps the load and takes the suspected cause away: lengths that differ, and arrivals that don't wait for answers.",
		Meaning: "A benchmark of fixed lengths in a closed loop measures its own rhythm: requests that end together come together.",
		Cases: []Case{
			c(fixed, bench.Users(users), same),
			c(jittered, bench.Users(users), workload.Shape{
				Prompt: workload.Lengths{Min: loopPrompt / 2, Max: loopPrompt * 3 / 2}, Output: workload.Lengths{Min: loopOutput / 2, Max: loopOutput * 3 / 2},
			}),
			c(open, bench.Load{Arrivals: arrival.Process{Kind: arrival.KindPoisson, Rate: 38}}, same),
		},
		Plot: Plot{Quantity: "ttft_p50", Axis: "the load"},
	}
	for _, name := range []string{fixed, jittered, open} {
		e.Expect = append(
			e.Expect,
			Expectation{Case: name, Quantity: "ttft_p50", Interval: spread(), Article: map[string]string{
				fixed: "about 100 ms", jittered: "10–15 ms if locking is the cause", open: "10–15 ms if locking is the cause",
			}[name]},
			Expectation{Case: name, Quantity: "ttft_p99", Interval: spread()},
			Expectation{Case: name, Quantity: "step_p50", Interval: spread()},
			Expectation{Case: name, Quantity: "tokens_per_s", Interval: spread()},
		)
	}
	e.Expect = append(e.Expect,
		Expectation{Case: jittered, Over: fixed, Quantity: "ttft_p50", Interval: spread(), Article: "0.1–0.15 if locking is the cause"})
	return e
}
