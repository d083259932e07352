package experiments

import (
	"time"

	"llmsim-bench/bench"
	"llmsim-bench/bench/arrival"
	"llmsim-bench/bench/load"
	"llmsim-bench/bench/workload"
)

// cancellation is E6.
func cancellation() Experiment {
	const stay, leave = "all stay", "half leave"
	const leaveAfter = 16
	c := Case{
		Name: stay, Model: smallCache,
		Load:     bench.Load{Arrivals: arrival.Process{Kind: arrival.KindBurst, Requests: 64}},
		Shape:    workload.Shape{Prompt: workload.Fixed(longPrompt), Output: workload.Fixed(64)},
		Duration: time.Second,
	}
	left := c
	left.Name, left.Leave = leave, load.Leave{Fraction: 0.5, AfterTokens: leaveAfter}
	e := Experiment{
		ID: "E6", Title: "Cancellation",
		Question: "Sixty-four requests wait for a small cache, and half of the clients leave after 16 of 64 tokens: are their blocks back within one step, " +
			"and do the waiting ones start when they should?",
		Meaning: "A client that closes its connection frees its place within one step, and those behind it start that much earlier. " +
			"A gateway that keeps the upstream connection open for a client that is gone makes everyone wait for an answer that nobody reads.",
		Cases: []Case{c, left},
		Plot:  Plot{Quantity: "queue_max", Axis: "the longest wait for a first step"},
	}
	for _, name := range []string{stay, leave} {
		e.Expect = append(
			e.Expect,
			Expectation{Case: name, Quantity: "left", Interval: equal()},
			Expectation{Case: name, Quantity: "queue_p50", Interval: spread()},
			Expectation{Case: name, Quantity: "queue_max", Interval: spread()},
			Expectation{Case: name, Quantity: "e2e_max", Interval: spread()},
			Expectation{Case: name, Quantity: "steps", Interval: spread()},
		)
	}
	e.Expect = append(
		e.Expect,
		Expectation{
			Case: leave, Quantity: "left_tokens_max", Interval: between(leaveAfter, leaveAfter+1),
			Formula: byFormula(leaveAfter, "the tokens after which clients leave; at most one more step is under way"),
		},
		Expectation{Case: leave, Over: stay, Quantity: "queue_max", Interval: spread()},
	)
	return e
}
