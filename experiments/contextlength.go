package experiments

import (
	"fmt"
	"time"

	"llmsim-bench/bench"
	"llmsim-bench/bench/arrival"
	"llmsim-bench/bench/workload"
)

// contextLength is E2.
func contextLength() Experiment {
	const batch, output = 16, 512
	e := Experiment{
		ID: "E2", Title: "Context",
		Question: "Sixteen requests at once, with prompts of 256 to 4,096 tokens: what does context cost every stream of a batch?",
		Meaning: "At the same batch size, prompts 16 times as long make every stream's step 2.8 times as slow, that of short requests in the same batch too. " +
			"Whoever routes by request count alone sends slow neighbours to everyone.",
		Plot: Plot{Quantity: "step_p50", Axis: "prompt tokens"},
	}
	name := func(prompt int) string { return fmt.Sprintf("%d tokens", prompt) }
	formula := func(prompt int) *Formula {
		context := float64(prompt + output/2)
		return byFormula(decodeMS(batch, context), "(weights + %d × %g tokens of KV) ÷ bandwidth", batch, context)
	}
	for _, prompt := range []int{256, 1024, 4096} {
		e.Cases = append(e.Cases, Case{
			Name: name(prompt), Model: base,
			Load:     bench.Load{Arrivals: arrival.Process{Kind: arrival.KindBurst, Requests: batch}},
			Shape:    workload.Shape{Prompt: workload.Fixed(prompt), Output: workload.Fixed(output)},
			Duration: time.Second,
		})
		e.Expect = append(
			e.Expect,
			Expectation{Case: name(prompt), Quantity: "step_p50", Interval: within(tolerance), Formula: formula(prompt)},
			Expectation{Case: name(prompt), Quantity: "itl_p50", Interval: within(tolerance), Formula: formula(prompt)},
			Expectation{Case: name(prompt), Quantity: "batch_max", Interval: equal(), Formula: byFormula(batch, "the burst")},
		)
	}
	short, long := formula(256).Value, formula(4096).Value
	e.Expect = append(e.Expect, Expectation{
		Case: name(4096), Over: name(256), Quantity: "step_p50", Interval: within(tolerance), Article: "2.8",
		Formula: byFormula(long/short, "%.4g ms ÷ %.4g ms", long, short),
	})
	return e
}
