package sched

// Hardware is a GPU by its data sheet, and how many of them serve a model
// together. What it reaches of its peaks is in CostParams.
type Hardware struct {
	// MemoryGiB is the memory a program sees, in GiB; it is less than the number on
	// the box: an H100 of 80 GB shows 79.19 GiB.
	MemoryGiB float64
	// ReservedGiB is what neither weights nor KV can use within the engine's part
	// of the memory: activations at the largest step, CUDA context and graphs,
	// communication buffers. Engines measure it when they start; 0.5 to 2.2 GiB was
	// seen.
	ReservedGiB float64
	// BandwidthGBps is the memory bandwidth in 10^9 bytes a second.
	BandwidthGBps float64
	// PeakTFLOPS is the dense matrix throughput for the model's number format, in
	// 10^12 FLOPs a second.
	PeakTFLOPS float64
	// TensorParallel is how many such GPUs share every layer of the model; all
	// figures above are those of one. 0 is 1.
	TensorParallel int
}

// gpus is TensorParallel with its default.
func (h Hardware) gpus() int { return max(h.TensorParallel, 1) }

// maxTensorParallel is far beyond what one server holds.
const maxTensorParallel = 1 << 10

func (h Hardware) validate() error {
	return checkLimits("hardware",
		limit{"MemoryGiB", h.MemoryGiB, 0.001, 1e6},
		limit{"ReservedGiB", h.ReservedGiB, 0, h.MemoryGiB},
		limit{"BandwidthGBps", h.BandwidthGBps, 0.001, 1e6},
		limit{"PeakTFLOPS", h.PeakTFLOPS, 0.001, 1e6},
		limit{"TensorParallel", float64(h.TensorParallel), 0, maxTensorParallel},
	)
}
