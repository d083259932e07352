package sched

import (
	"fmt"
	"math"
)

// Capacity is how much KV cache fits beside a model. Sizes are bytes on one GPU;
// under tensor parallelism every GPU holds its part of each block.
type Capacity struct {
	// Blocks is the number of whole blocks, as an engine prints it: vLLM's null
	// block is among them (see Rules.Usable).
	Blocks int
	// BlockBytes is the size of one block of BlockSize tokens.
	BlockBytes int64
	BlockSize  int
	// EngineBytes is what the engine may use of the memory; WeightBytes and
	// ReservedBytes go off it, CacheBytes is the rest.
	EngineBytes, WeightBytes, ReservedBytes, CacheBytes int64
}

// NewCapacity shares out a GPU's memory as vLLM does when it starts: the engine
// takes the share gpuMemoryUtilization of it (above 0, at most 1), the weights
// and the reserved memory go off, and the rest is cut into blocks of blockSize
// tokens.
//
// Weights that don't fit, and a cache that doesn't hold one block, are refused
// with the arithmetic; so is negative and absurd configuration.
func NewCapacity(h Hardware, m Model, blockSize int, gpuMemoryUtilization float64) (Capacity, error) {
	m, err := resolveFor(h, m)
	if err != nil {
		return Capacity{}, err
	}
	err = checkLimits("KV cache",
		limit{"block size", float64(blockSize), 1, maxBlockSize},
		limit{"GPU memory utilization", gpuMemoryUtilization, 0.001, 1},
	)
	if err != nil {
		return Capacity{}, err
	}

	gpus := h.gpus()
	c := Capacity{
		BlockBytes:    int64(blockSize) * m.kvBytesPerTokenPerGPU(gpus),
		BlockSize:     blockSize,
		EngineBytes:   ceilBytes(h.MemoryGiB * gib * gpuMemoryUtilization),
		WeightBytes:   ceilBytes(m.weightBytesPerGPU(gpus)),
		ReservedBytes: ceilBytes(h.ReservedGiB * gib),
	}
	c.CacheBytes = c.EngineBytes - c.WeightBytes - c.ReservedBytes
	switch blocks := c.CacheBytes / c.BlockBytes; {
	case c.CacheBytes < 0:
		return Capacity{}, fmt.Errorf("KV cache: the weights do not fit: %s; %s", c.sum(), c.remedy(h, gpuMemoryUtilization))
	case blocks < 1:
		return Capacity{}, fmt.Errorf("KV cache: not one block fits: %s, less than a block of %d tokens (%s); %s",
			c.sum(), blockSize, size(c.BlockBytes), c.remedy(h, gpuMemoryUtilization))
	case blocks > maxBlocks:
		return Capacity{}, fmt.Errorf("KV cache: %d blocks of %d tokens, must be at most %d: use a larger block size", blocks, blockSize, maxBlocks)
	default:
		c.Blocks = int(blocks)
		return c, nil
	}
}

// resolveFor checks a model and the hardware that serves it, each alone and both
// together.
func resolveFor(h Hardware, m Model) (Model, error) {
	if err := h.validate(); err != nil {
		return Model{}, err
	}
	m, err := m.Resolve()
	if err != nil {
		return Model{}, err
	}
	return m, m.checkParallel(h.gpus())
}

const gib = 1 << 30

// String is the whole arithmetic in one line.
func (c Capacity) String() string {
	return fmt.Sprintf("%s: %d blocks of %d tokens (%s)", c.sum(), c.Blocks, c.BlockSize, size(c.BlockBytes))
}

func (c Capacity) sum() string {
	return fmt.Sprintf("%s for the engine - %s of weights - %s reserved = %s of cache on each GPU",
		size(c.EngineBytes), size(c.WeightBytes), size(c.ReservedBytes), size(c.CacheBytes))
}

// remedy says which memory, or else how many GPUs, would hold one block. One
// block is the least for both: a cache that small still serves next to nothing.
func (c Capacity) remedy(h Hardware, gpuMemoryUtilization float64) string {
	need := float64(c.WeightBytes+c.ReservedBytes+c.BlockBytes) / gpuMemoryUtilization
	advice := fmt.Sprintf("MemoryGiB is %s and must be at least %.2f at a utilization of %s",
		plain(h.MemoryGiB), math.Ceil(need/gib*100)/100, plain(gpuMemoryUtilization))
	if left := c.EngineBytes - c.ReservedBytes; left > 0 && c.CacheBytes < 0 {
		gpus := math.Ceil(float64(c.WeightBytes) * float64(h.gpus()) / float64(left))
		advice += fmt.Sprintf(", or TensorParallel, which is %d, at least %s", h.gpus(), plain(gpus))
	}
	return advice
}

// size writes bytes in the largest unit that leaves a whole number before the
// point.
func size(bytes int64) string {
	value, units := float64(bytes), []string{"B", "KiB", "MiB", "GiB"}
	for len(units) > 1 && math.Abs(value) >= 1024 {
		value /= 1024
		units = units[1:]
	}
	return fmt.Sprintf("%.4g %s", value, units[0])
}
