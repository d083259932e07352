package experiments

import (
	"fmt"
	"time"

	"llmsim-bench/bench"
	"llmsim-bench/bench/workload"
)

// prefixCache is E9.
func prefixCache() Experiment {
	const prompt, rate = 1024, 30
	caching := changed("scheduler.enable_prefix_caching", "true")
	e := Experiment{
		ID: "E9", Title: "Prefix cache",
		Question: "Prompts of 1,024 tokens, 30 a second, that share a growing part of their beginning: what does a prefix cache save in time to first token and KV blocks?",
		Meaning: "What is shared costs neither compute nor blocks, as long as the requests reach the same replica. " +
			"That is what a gateway gains by routing equal beginnings to one place, and loses by spreading them.",
		Plot:  Plot{Quantity: "ttft_p50", Axis: "shared tokens of 1,024"},
		Quick: Quick{Cases: []string{"768, no cache", "512 shared"}},
	}
	add := func(name string, m Model, shared int) {
		e.Cases = append(e.Cases, Case{
			Name: name, Model: m, Load: bench.AtRate(rate),
			Shape:  workload.Shape{Prompt: workload.Fixed(prompt), Output: workload.Fixed(32), SharedPrefix: shared},
			Warmup: time.Second, Duration: 7 * time.Second,
		})
		e.Expect = append(
			e.Expect,
			Expectation{Case: name, Quantity: "ttft_p50", Interval: spread()},
			Expectation{Case: name, Quantity: "batch_mean", Interval: spread()},
			Expectation{Case: name, Quantity: "kv_use_mean", Interval: spread()},
		)
	}
	add("768, no cache", base, 768)
	for _, shared := range []int{0, 256, 512, 768, 1008} {
		name := fmt.Sprintf("%d shared", shared)
		add(name, caching, shared)
		share := float64(shared) / prompt
		e.Expect = append(e.Expect, Expectation{
			Case: name, Quantity: "cached_share", Interval: within(tolerance),
			Formula: byFormula(share, "%d of %d tokens, for all requests but the first", shared, prompt),
		})
	}
	return e
}
