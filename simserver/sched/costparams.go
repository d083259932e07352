package sched

import (
	"errors"
	"time"
)

// CostParams is what a step costs beyond the data sheet. The zero value is the
// plain roofline at full peak: every term is off until it is set.
//
// A profile's values are a fit of some of the terms with the others off. Setting
// one more on top counts it twice unless the rest are fitted again.
type CostParams struct {
	// ComputeEfficiency and MemoryEfficiency are the share of peak FLOPs and peak
	// bandwidth that is reached, above 0 to 1. 0 is 1.
	ComputeEfficiency, MemoryEfficiency float64

	// StepOverhead is the host's work on a step: scheduling, input preparation,
	// output processing. SequenceTime is its further work on each sequence of the
	// step, sampling included.
	StepOverhead, SequenceTime time.Duration
	// OverlapHost lets the host work beside the GPU, as asynchronous scheduling
	// does: a step then takes as long as the slower of the two, not their sum.
	OverlapHost bool

	// PrefillTime is the further time of a step that contains prefill: it leaves
	// the CUDA graph.
	PrefillTime time.Duration
	// LaunchTime is the time between two matrix multiplications (Shape.GEMMs).
	// It needs the model's shape.
	LaunchTime time.Duration
	// AllReduceLatency and AllReduceGBps say what one all-reduce costs: the latency
	// and the step's activations, at 10^9 bytes a second; 0 makes the bytes free.
	// Under tensor parallelism each layer has two; on one GPU there are none. They
	// need the model's shape.
	AllReduceLatency time.Duration
	AllReduceGBps    float64

	// FrontEnd is the time a request spends outside the scheduler before its first
	// token: HTTP, tokenising, hand-over. It goes onto its TTFT, never into a step;
	// CostModel only keeps it for the driver.
	FrontEnd time.Duration
}

func (p CostParams) validate(m Model, gpus int) error {
	err := checkLimits("cost model",
		limit{"ComputeEfficiency", full(p.ComputeEfficiency), 0.001, 1},
		limit{"MemoryEfficiency", full(p.MemoryEfficiency), 0.001, 1},
		limit{"AllReduceGBps", p.AllReduceGBps, 0, 1e6},
	)
	if err != nil {
		return err
	}
	err = checkTimings("cost model",
		timing{"StepOverhead", p.StepOverhead},
		timing{"SequenceTime", p.SequenceTime},
		timing{"PrefillTime", p.PrefillTime},
		timing{"LaunchTime", p.LaunchTime},
		timing{"AllReduceLatency", p.AllReduceLatency},
		timing{"FrontEnd", p.FrontEnd},
	)
	if err != nil || m.Shape.known() {
		return err
	}
	if p.LaunchTime > 0 {
		return errors.New("cost model: LaunchTime is set, but counts the matrix multiplications of a Shape, which the model lacks")
	}
	if gpus > 1 && (p.AllReduceLatency > 0 || p.AllReduceGBps > 0) {
		return errors.New("cost model: AllReduceLatency or AllReduceGBps is set with TensorParallel, but counts the layers of a Shape, which the model lacks")
	}
	return nil
}

// full is an efficiency with its default.
func full(efficiency float64) float64 {
	if efficiency == 0 {
		return 1
	}
	return efficiency
}
