package experiments

import (
	"time"

	"llmsim-bench/bench"
	"llmsim-bench/bench/workload"
)

// openLoop is E7.
func openLoop() Experiment {
	const knee = 75 // requests a second, below capacity
	e := Experiment{
		ID: "E7", Title: "Open loop",
		Question: "Poisson arrivals of 10 to 100 requests a second, 512 tokens in, 64 out: time to first token, batch, step time and capacity.",
		Meaning: "Nothing of the HTTP process in front of the scheduler shows in simulated time. Below capacity the time to first token is that of one step and a half; " +
			"past it the queue grows for as long as the load lasts, which a closed loop never shows.",
		Plot:  Plot{Quantity: "ttft_p50", Axis: "requests a second", Log: true},
		Quick: Quick{Live: true, Cases: []string{"10/s", "50/s", "100/s"}, Warmup: time.Second, Duration: 5 * time.Second},
	}
	for _, rate := range []float64{10, 25, 50, knee, 100} {
		name := number(rate) + "/s"
		e.Cases = append(e.Cases, Case{
			Name: name, Model: base, Load: bench.AtRate(rate),
			Shape:  workload.Shape{Prompt: workload.Fixed(512), Output: workload.Fixed(64)},
			Warmup: 2 * time.Second, Duration: 10 * time.Second,
		})
		steps := within(tolerance)
		if rate >= knee {
			steps = spread()
		}
		e.Expect = append(
			e.Expect,
			Expectation{Case: name, Quantity: "ttft_p50", Interval: spread(), Article: onlyFor(rate < knee, "missed by 3.5–5 ms")},
			Expectation{Case: name, Quantity: "step_p50", Interval: steps},
			Expectation{Case: name, Quantity: "batch_mean", Interval: spread()},
			Expectation{Case: name, Quantity: "rate", Interval: steps, Article: onlyFor(rate == 100, "74, predicted 81.7")},
		)
	}
	return e
}
