package config

import (
	"math"
	"time"
)

// Limits of a model of the engine scheduler: far beyond what there is, and
// small enough for exact arithmetic.
const (
	maxTensorParallel  = 1 << 10
	minParamsBillions  = 1e-9
	maxParamsBillions  = 1e6
	minElementBytes    = 0.125 // one bit
	maxElementBytes    = 8
	maxKVBytesPerToken = 1 << 40
	maxBlockSize       = 1 << 20
	maxBlocks          = 1 << 26
	minShare           = 0.001         // of a memory or a peak that is used
	maxBatch           = math.MaxInt32 // tokens or sequences
)

// What holds where the file does not say, whatever the profiles.
const (
	defaultTensorParallel       = 1
	defaultBlockSize            = 16
	defaultGPUMemoryUtilization = 0.9
	defaultOptionsProfile       = "article"
)

// selfContained says that neither a profile nor a shape gives the model's
// figures.
func (m *modelReader) selfContained() bool { return !m.has("profile") && !m.has("shape") }

const whenSelfContained = "where there is neither profile nor shape"

func (m *modelReader) tensorParallel() {
	m.model.Scheduler.TensorParallel = defaultTensorParallel
	if m.has("tensor_parallel") {
		m.model.Scheduler.TensorParallel = m.integer("tensor_parallel", 1, maxTensorParallel)
	}
}

func (m *modelReader) profile() {
	m.model.Scheduler.ModelProfile = m.optionalText("profile", "the name of a built-in model")
}

func (m *modelReader) weights() {
	if m.selfContained() {
		m.require(whenSelfContained, "weights")
	}
	keys := []string{"parameters_billions", "active_parameters_billions", "bytes_per_parameter"}
	s := m.optionalSection("weights", keys)
	if s == nil {
		return
	}
	w := Weights{
		Parameters:        s.optionalBillions("parameters_billions"),
		ActiveParameters:  s.optionalBillions("active_parameters_billions"),
		BytesPerParameter: s.optionalNumber("bytes_per_parameter", minElementBytes, maxElementBytes),
	}
	if m.selfContained() {
		s.require(whenSelfContained, "parameters_billions", "bytes_per_parameter")
	}
	if w.Parameters != nil && w.ActiveParameters != nil && *w.ActiveParameters > *w.Parameters {
		s.refuse("active_parameters_billions", "%s is not possible, must be at most parameters_billions, which is %s",
			s.values["active_parameters_billions"].Value, s.values["parameters_billions"].Value)
	}
	m.model.Scheduler.Weights = w
}

// optionalBillions reads how many parameters there are.
func (s *section) optionalBillions(key string) *int64 {
	n := s.optionalNumber(key, minParamsBillions, maxParamsBillions)
	if n == nil {
		return nil
	}
	count := int64(math.Round(*n * 1e9))
	return &count
}

func (m *modelReader) kvCache() {
	c := &m.model.Scheduler.KVCache
	c.BlockSize, c.GPUMemoryUtilization = defaultBlockSize, defaultGPUMemoryUtilization
	if m.selfContained() {
		m.require(whenSelfContained, "kv_cache")
	}
	keys := []string{"bytes_per_token", "block_size", "gpu_memory_utilization", "watermark", "num_gpu_blocks_override"}
	s := m.optionalSection("kv_cache", keys)
	if s == nil {
		return
	}
	c.BytesPerToken = s.optionalInt64("bytes_per_token", 1, maxKVBytesPerToken)
	if s.has("block_size") {
		c.BlockSize = s.integer("block_size", 1, maxBlockSize)
	}
	if s.has("gpu_memory_utilization") {
		c.GPUMemoryUtilization = s.number("gpu_memory_utilization", minShare, 1)
	}
	c.Watermark = s.optionalFraction("watermark")
	c.NumGPUBlocksOverride = s.optionalInteger("num_gpu_blocks_override", 1, maxBlocks)
	if m.selfContained() {
		s.require(whenSelfContained, "bytes_per_token")
	}
}

func (m *modelReader) schedulerOptions() {
	keys := []string{
		"profile", "max_batch_tokens", "max_num_sequences", "policy", "enable_prefix_caching", "enable_chunked_prefill",
		"long_prefill_token_threshold", "scheduler_reserve_full_isl", "async_scheduling", "max_waiting",
	}
	s := m.subsection("scheduler", keys)
	if s == nil {
		return
	}
	s.allow("", keys)
	o := SchedulerOptions{
		Profile:                   defaultOptionsProfile,
		MaxBatchTokens:            s.optionalInteger("max_batch_tokens", 1, maxBatch),
		MaxNumSequences:           s.optionalInteger("max_num_sequences", 1, maxBatch),
		EnablePrefixCaching:       s.optionalBool("enable_prefix_caching"),
		EnableChunkedPrefill:      s.optionalBool("enable_chunked_prefill"),
		LongPrefillTokenThreshold: s.optionalInteger("long_prefill_token_threshold", 0, maxBatch),
		ReserveFullISL:            s.optionalBool("scheduler_reserve_full_isl"),
		AsyncScheduling:           s.optionalBool("async_scheduling"),
	}
	if n := s.optionalInteger("max_waiting", 0, maxBatch); n != nil {
		o.MaxWaiting = *n
	}
	if s.has("profile") {
		o.Profile = s.text("profile", "the name of a built-in set of options")
	}
	if s.has("policy") {
		o.Policy = s.oneOf("policy", []string{PolicyFCFS, PolicyPriority})
	}
	m.model.Scheduler.Options = o
}

func (m *modelReader) stepLatency() {
	keys := []string{
		"step_overhead_ms", "sequence_us", "prefill_step_ms", "launch_us", "all_reduce_latency_us", "all_reduce_gbps",
		"front_end_ms", "overlap_host",
	}
	s := m.optionalSection("latency", keys)
	if s == nil {
		return
	}
	m.model.Scheduler.Latency = Latency{
		StepOverhead:     s.optionalDuration("step_overhead_ms", time.Millisecond),
		SequenceTime:     s.optionalDuration("sequence_us", time.Microsecond),
		OverlapHost:      s.optionalBool("overlap_host"),
		PrefillTime:      s.optionalDuration("prefill_step_ms", time.Millisecond),
		LaunchTime:       s.optionalDuration("launch_us", time.Microsecond),
		AllReduceLatency: s.optionalDuration("all_reduce_latency_us", time.Microsecond),
		AllReduceGBps:    s.optionalNumber("all_reduce_gbps", 0, maxFigure),
		FrontEnd:         s.optionalDuration("front_end_ms", time.Millisecond),
	}
}

func (m *modelReader) efficiency() {
	keys := []string{"compute", "memory"}
	s := m.optionalSection("efficiency", keys)
	if s == nil {
		return
	}
	m.model.Scheduler.Efficiency = Efficiency{
		Compute: s.optionalNumber("compute", minShare, 1),
		Memory:  s.optionalNumber("memory", minShare, 1),
	}
}
