package experiments

import (
	"fmt"
	"time"

	"llmsim-bench/bench"
	"llmsim-bench/bench/workload"
)

// The article's closed loop: 128 tokens in, 200 out.
const (
	loopPrompt = 128
	loopOutput = 200
)

// batching is E1.
func batching() Experiment {
	e := Experiment{
		ID: "E1", Title: "Batching",
		Question: "A closed loop of 1 to 64 streams, 128 tokens in, 200 out: what does a batch cost, and what does it gain?",
		Meaning: "Sixty-four streams get 38 times the throughput of one for 1.55 times its step time: decoding reads the weights once a step, " +
			"whatever the batch. A gateway that spreads few requests over many replicas throws that away.",
		Plot:  Plot{Quantity: "loop_tokens_per_s", Axis: "streams"},
		Quick: Quick{Live: true, Cases: []string{streams(1), streams(64)}, Warmup: time.Second, Duration: 4 * time.Second},
	}
	for _, n := range []int{1, 4, 16, 64} {
		e.Cases = append(e.Cases, Case{
			Name: streams(n), Model: base, Load: bench.Users(n),
			Shape:  workload.Shape{Prompt: workload.Fixed(loopPrompt), Output: workload.Fixed(loopOutput)},
			Warmup: 2 * time.Second, Duration: 8 * time.Second,
		})
		e.Expect = append(
			e.Expect,
			Expectation{Case: streams(n), Quantity: "step_p50", Interval: within(tolerance), Formula: loopStep(n)},
			Expectation{Case: streams(n), Quantity: "batch_max", Interval: equal(), Formula: byFormula(float64(n), "each stream has one request")},
			Expectation{Case: streams(n), Quantity: "loop_tokens_per_s", Interval: spread()},
			Expectation{Case: streams(n), Quantity: "ttft_p50", Interval: spread(), Article: onlyFor(n == 64, "about 100 ms")},
		)
	}
	one, many := loopStep(1).Value, loopStep(64).Value
	e.Expect = append(
		e.Expect,
		Expectation{
			Case: streams(64), Over: streams(1), Quantity: "step_p50", Interval: within(tolerance), Article: "1.56",
			Formula: byFormula(many/one, "%.4g ms ÷ %.4g ms", many, one),
		},
		Expectation{Case: streams(64), Over: streams(1), Quantity: "loop_tokens_per_s", Interval: spread(), Article: "38"},
	)
	return e
}

func streams(n int) string {
	if n == 1 {
		return "1 stream"
	}
	return fmt.Sprintf("%d streams", n)
}

// loopStep is the median step of n streams of the closed loop: all decode, at a
// context that is in the middle of an answer.
func loopStep(n int) *Formula {
	context := loopPrompt + loopOutput/2.0
	return byFormula(decodeMS(float64(n), context), "(weights + %d × %g tokens of KV) ÷ bandwidth", n, context)
}

// onlyFor is text where a condition holds.
func onlyFor(condition bool, text string) string {
	if condition {
		return text
	}
	return ""
}
