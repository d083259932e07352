package sched

import "fmt"

// Model is what capacity and cost need to know of a model. Each figure that is
// 0 is taken from Shape, so either is enough: a shape, or the four figures. What
// only a shape can tell is not modelled without one: attention FLOPs, which
// experts are read, and the terms of CostParams that count layers.
type Model struct {
	// Parameters is how many weights the memory holds.
	Parameters int64
	// ActiveParameters is how many of them one token is multiplied with. 0:
	// Parameters, less the experts that Shape says a token does not visit.
	ActiveParameters int64
	// BytesPerParameter is 2 for bf16 and fp16, 1 for fp8, 0.5 for 4 bits.
	BytesPerParameter float64
	// KVBytesPerToken is what a token occupies in the KV cache, over all layers
	// and all GPUs.
	KVBytesPerToken int64
	Shape           Shape
}

// Limits of a model's own figures: a thousand times the largest there are, and
// small enough for exact arithmetic.
const (
	maxParameters      = 1e15
	maxKVBytesPerToken = 1 << 40
)

// Resolve returns the model with every 0 filled in from the shape. It refuses
// what is missing, negative or absurd, and is idempotent.
func (m Model) Resolve() (Model, error) {
	if m.Shape.known() {
		if err := m.Shape.validate(); err != nil {
			return Model{}, err
		}
		if m.Parameters == 0 {
			m.Parameters = m.Shape.Parameters()
		}
		if m.BytesPerParameter == 0 {
			m.BytesPerParameter = m.Shape.BytesPerParameter
		}
		if m.KVBytesPerToken == 0 {
			m.KVBytesPerToken = m.Shape.KVBytesPerToken()
		}
		if experts := m.Shape.ExpertParameters(); m.Parameters > 0 && m.Parameters < experts {
			return Model{}, fmt.Errorf("model: Parameters is %d, must be at least the %d of the experts that Shape gives", m.Parameters, experts)
		}
	}
	if m.ActiveParameters == 0 {
		m.ActiveParameters = m.Parameters - m.Shape.idleParameters()
	}
	err := checkLimits("model",
		limit{"Parameters", float64(m.Parameters), 1, maxParameters},
		limit{"ActiveParameters", float64(m.ActiveParameters), 1, float64(m.Parameters)},
		limit{"BytesPerParameter", m.BytesPerParameter, minElementBytes, maxElementBytes},
		limit{"KVBytesPerToken", float64(m.KVBytesPerToken), 1, maxKVBytesPerToken},
	)
	if err != nil {
		return Model{}, err
	}
	return m, nil
}

// checkParallel refuses a tensor parallelism the model's heads can't be shared
// out for, as vLLM does: a GPU computes whole heads, and KV heads that are fewer
// than the GPUs are copied evenly.
func (m Model) checkParallel(gpus int) error {
	s := m.Shape
	switch {
	case !s.known():
		return nil
	case s.Heads%gpus != 0:
		return fmt.Errorf("hardware: TensorParallel is %d, must divide the model's %d heads", gpus, s.Heads)
	case s.KVHeads%gpus != 0 && gpus%s.KVHeads != 0:
		return fmt.Errorf("hardware: TensorParallel is %d, must divide the model's %d KV heads or be a multiple of them", gpus, s.KVHeads)
	}
	return nil
}

// weightBytesPerGPU is each GPU's part of the weights, which divide evenly.
func (m Model) weightBytesPerGPU(gpus int) float64 {
	return float64(m.Parameters) * m.BytesPerParameter / float64(gpus)
}

// kvBytesPerTokenPerGPU is each GPU's part of a token's KV: an even one, but at
// least a whole KV head where the shape says how many there are.
func (m Model) kvBytesPerTokenPerGPU(gpus int) int64 {
	parts := gpus
	if m.Shape.known() {
		parts = min(gpus, m.Shape.KVHeads)
	}
	return ceilBytes(float64(m.KVBytesPerToken) / float64(parts))
}
