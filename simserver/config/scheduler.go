package config

import "time"

// Names of policies, as models.yml spells them.
const (
	PolicyFCFS     = "fcfs"
	PolicyPriority = "priority"
)

// Scheduler times requests together, as an engine with continuous batching and
// a paged KV cache does on the hardware.
//
// A nil pointer is a figure that the file does not give. It is then the
// profile's; without a profile it follows from other figures, or is zero. Parse
// sees to it that nothing is missing that could come from nowhere.
type Scheduler struct {
	Hardware Hardware
	// TensorParallel is how many such GPUs share the model, 1 or more.
	TensorParallel int

	// ModelProfile is the name of a built-in model, or empty. Weights, Shape and
	// KVCache.BytesPerToken override it.
	ModelProfile string
	Weights      Weights
	Shape        Shape
	KVCache      KVCache

	Options SchedulerOptions
	// Latency and Efficiency override the hardware's profile.
	Latency    Latency
	Efficiency Efficiency
}

// Hardware is a GPU by its data sheet.
type Hardware struct {
	// Where says where the hardware stands: what an error about it starts with.
	Where string
	// Profile is the name of built-in hardware, which the figures override; if it
	// is empty, all but ReservedGiB are set.
	Profile string
	// MemoryGiB is hbm_gib, BandwidthGBps memory_bandwidth_gbps (10^9 bytes a
	// second), PeakTFLOPS peak_tflops (10^12 FLOPs a second).
	MemoryGiB, BandwidthGBps, PeakTFLOPS *float64
	// ReservedGiB is what neither weights nor KV can use; less than MemoryGiB where
	// both are set.
	ReservedGiB *float64
}

// Weights are the model's own figures. Parameters and BytesPerParameter are set
// where there is neither a profile nor a shape. ActiveParameters are those that
// one token is multiplied with, at most Parameters where both are set.
type Weights struct {
	Parameters, ActiveParameters *int64
	BytesPerParameter            *float64
}

// Shape is a transformer by its dimensions, as a model card's config.json gives
// them. Without a profile either nothing is set, or everything up to Vocabulary
// and both sizes in bytes are.
type Shape struct {
	Layers, Hidden           *int
	Heads, KVHeads, HeadSize *int
	// Intermediate is the width of the feed-forward network, or of one expert.
	Intermediate *int
	Vocabulary   *int
	// Experts is how many each layer has, ActiveExperts how many a token visits.
	Experts, ActiveExperts               *int
	TiedEmbeddings, QKVBias, QKNorm      *bool
	BytesPerParameter, BytesPerKVElement *float64
}

// KVCache is the paged cache.
type KVCache struct {
	// BytesPerToken is over all layers and GPUs. It is set where there is neither a
	// profile nor a shape.
	BytesPerToken *int64
	// BlockSize is how many tokens a block holds.
	BlockSize int
	// GPUMemoryUtilization is the engine's share of the memory, above 0 to 1.
	GPUMemoryUtilization float64
	// Watermark is the share of the blocks that an admission leaves free, from 0 to
	// less than 1.
	Watermark *float64
	// NumGPUBlocksOverride is how many blocks there are, whatever the memory holds.
	NumGPUBlocksOverride *int
}

// SchedulerOptions are the options of the scheduler, of which all but the
// article's two and MaxWaiting have vLLM's names. They override the profile.
type SchedulerOptions struct {
	// Profile names a built-in set of options, as a release of vLLM has them.
	Profile string
	// MaxBatchTokens is vLLM's max_num_batched_tokens, MaxNumSequences its
	// max_num_seqs.
	MaxBatchTokens, MaxNumSequences *int
	// Policy is PolicyFCFS, PolicyPriority or, where the file does not say, empty.
	Policy                                    string
	EnablePrefixCaching, EnableChunkedPrefill *bool
	// LongPrefillTokenThreshold is in tokens; 0 is none.
	LongPrefillTokenThreshold *int
	ReserveFullISL            *bool
	AsyncScheduling           *bool
	// MaxWaiting is how many requests of a replica may wait for their first step; 0
	// is any number. It is this server's own, and no part of the scheduler.
	MaxWaiting int
}

// Latency is what a step costs beyond the data sheet.
type Latency struct {
	// StepOverhead is the host's work on a step, SequenceTime its further work on
	// each sequence of it; OverlapHost lets it run beside the GPU's.
	StepOverhead, SequenceTime *time.Duration
	OverlapHost                *bool
	// PrefillTime is the further time of a step with prefill.
	PrefillTime *time.Duration
	// LaunchTime is the time between two matrix multiplications.
	LaunchTime *time.Duration
	// AllReduceLatency and AllReduceGBps (10^9 bytes a second; 0 makes the bytes
	// free) are the cost of one all-reduce under tensor parallelism.
	AllReduceLatency *time.Duration
	AllReduceGBps    *float64
	// FrontEnd is a request's time outside the scheduler before its first token.
	FrontEnd *time.Duration
}

// Efficiency is the share of the peaks that is reached, above 0 to 1.
type Efficiency struct{ Compute, Memory *float64 }
