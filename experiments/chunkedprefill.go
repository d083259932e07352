package experiments

import (
	"strings"
	"time"
)

// chunkedPrefill is E3.
func chunkedPrefill() Experiment {
	const (
		decodes, prompt, output = 16, 64, 400
		long, longOutput        = 8192, 32
	)
	var trace strings.Builder
	trace.WriteString("at_s,prompt_tokens,output_tokens\n")
	for range decodes {
		trace.WriteString("0,64,400\n")
	}
	trace.WriteString("1,8192,32\n")

	const whole, chunked = "budget 8192", "budget 2048"
	e := Experiment{
		ID: "E3", Title: "Chunked prefill",
		Question: "One prompt of 8,192 tokens arrives among 16 streams that decode, with a token budget of 8,192 and of 2,048: how long do they all stall?",
		Meaning: "One long prompt stalls every stream of the batch for a step. A quarter of the budget makes the stall a quarter as long, and serves the same work in the same time. " +
			"A gateway's time between tokens has this tail whenever somebody else sends a long prompt.",
		Plot:  Plot{Quantity: "itl_max", Axis: "max_batch_tokens"},
		Quick: Quick{Live: true},
	}
	const work = decodes*(prompt+output-1) + long + longOutput - 1
	for _, c := range []struct {
		name    string
		model   Model
		budget  float64
		article string
	}{
		{whole, base, 8192, "112 ms"},
		{chunked, changed("scheduler.max_batch_tokens", "2048"), 2048, "28 ms"},
	} {
		e.Cases = append(e.Cases, Case{Name: c.name, Model: c.model, Trace: trace.String(), Duration: 1500 * time.Millisecond})
		e.Expect = append(
			e.Expect,
			Expectation{
				Case: c.name, Quantity: "itl_max", Interval: within(tolerance), Article: c.article,
				Formula: byFormula(computeMS(c.budget), "2 × parameters × %g tokens ÷ peak", c.budget),
			},
			Expectation{
				Case: c.name, Quantity: "step_max", Interval: within(tolerance),
				Formula: byFormula(computeMS(c.budget), "2 × parameters × %g tokens ÷ peak", c.budget),
			},
			Expectation{
				Case: c.name, Quantity: "scheduled_tokens", Interval: equal(),
				Formula: byFormula(work, "every prompt token and every output token but the last of each request, once"),
			},
			Expectation{Case: c.name, Quantity: "ttft_max", Interval: spread()},
		)
	}
	e.Expect = append(e.Expect, Expectation{Case: chunked, Over: whole, Quantity: "e2e_max", Interval: spread(), Article: "the same time"})
	return e
}
