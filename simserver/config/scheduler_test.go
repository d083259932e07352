package config

import (
	"testing"
	"time"
)

// article is the base model of the article, as it is written there.
const article = `hardware:
  h100-80gb:
    hbm_gib: 80
    memory_bandwidth_gbps: 3000
    peak_tflops: 989
models:
  - name: qwen-mock-batched
    context_length: 32768
    tokenizer: regex
    engine: scheduler
    hardware: h100-80gb
    weights:
      parameters_billions: 6.74
      bytes_per_parameter: 2
    kv_cache:
      bytes_per_token: 524288
      block_size: 16
      gpu_memory_utilization: 0.9
      watermark: 0.01
    scheduler:
      max_batch_tokens: 8192
      max_num_sequences: 64
    latency:
      step_overhead_ms: 0
    efficiency:
      compute: 1.0
      memory: 1.0
`

// articleScheduler is what the article's model says; hardware is where its
// hardware stands.
func articleScheduler(hardware string) Scheduler {
	return Scheduler{
		Hardware:       Hardware{Where: hardware, MemoryGiB: new(80.0), BandwidthGBps: new(3000.0), PeakTFLOPS: new(989.0)},
		TensorParallel: 1,
		Weights:        Weights{Parameters: new(int64(6_740_000_000)), BytesPerParameter: new(2.0)},
		KVCache:        KVCache{BytesPerToken: new(int64(524_288)), BlockSize: 16, GPUMemoryUtilization: 0.9, Watermark: new(0.01)},
		Options:        SchedulerOptions{Profile: "article", MaxBatchTokens: new(8192), MaxNumSequences: new(64)},
		Latency:        Latency{StepOverhead: new(time.Duration(0))},
		Efficiency:     Efficiency{Compute: new(1.0), Memory: new(1.0)},
	}
}

// everyKey gives each key a value of its own, or of two the one that is not the
// profile's.
const everyKey = `hardware:
  spare: {profile: rtx-4090@1}
  mine:
    profile: h100-sxm@1
    hbm_gib: 79.5
    memory_bandwidth_gbps: 3_350
    peak_tflops: 1e3
    reserved_gib: 0
models:
  - name: m
    context_length: 4096
    tokenizer: regex
    engine: scheduler
    hardware: mine
    tensor_parallel: 2
    profile: mixtral-8x7b@1
    weights: {parameters_billions: 46.7, active_parameters_billions: 2.01, bytes_per_parameter: 0.5}
    shape:
      layers: 32
      hidden: 4096
      heads: 48
      kv_heads: 8
      head_size: 128
      intermediate: 14336
      vocabulary: 32000
      experts: 6
      active_experts: 3
      tied_embeddings: true
      qkv_bias: false
      qk_norm: true
      bytes_per_parameter: 1
      bytes_per_kv_element: 1.5
    kv_cache: {bytes_per_token: 65536, block_size: 32, gpu_memory_utilization: 1, watermark: 0, num_gpu_blocks_override: 1000}
    scheduler:
      profile: vllm-0.23
      max_batch_tokens: 2048
      max_num_sequences: 256
      policy: priority
      enable_prefix_caching: false
      enable_chunked_prefill: true
      long_prefill_token_threshold: 0
      scheduler_reserve_full_isl: false
      async_scheduling: true
      max_waiting: 12
    latency:
      step_overhead_ms: 1.5
      sequence_us: 2.5
      prefill_step_ms: 3.5
      launch_us: 4.5
      all_reduce_latency_us: 5.5
      all_reduce_gbps: 6.5
      front_end_ms: 7.5
      overlap_host: false
    efficiency: {compute: 0.6, memory: 0.79}
`

// profilesOnly leaves to profiles all that may be left to them.
const profilesOnly = `models:
  - {name: m, context_length: 4096, tokenizer: regex, engine: scheduler, hardware: h200@1, profile: llama-3.1-8b@1, scheduler: {profile: vllm-0.16}}
`

func TestScheduler(t *testing.T) {
	tests := []struct {
		name, file string
		want       Scheduler
	}{
		{"the article's model", article, articleScheduler("models.yml:2: hardware.h100-80gb")},
		{"every key", everyKey, Scheduler{
			Hardware: Hardware{
				Where: "models.yml:3: hardware.mine", Profile: "h100-sxm@1",
				MemoryGiB: new(79.5), BandwidthGBps: new(3350.0), PeakTFLOPS: new(1000.0), ReservedGiB: new(0.0),
			},
			TensorParallel: 2,
			ModelProfile:   "mixtral-8x7b@1",
			Weights: Weights{
				Parameters: new(int64(46_700_000_000)), ActiveParameters: new(int64(2_010_000_000)), BytesPerParameter: new(0.5),
			},
			Shape: Shape{
				Layers: new(32), Hidden: new(4096), Heads: new(48), KVHeads: new(8), HeadSize: new(128),
				Intermediate: new(14336), Vocabulary: new(32000), Experts: new(6), ActiveExperts: new(3),
				TiedEmbeddings: new(true), QKVBias: new(false), QKNorm: new(true),
				BytesPerParameter: new(1.0), BytesPerKVElement: new(1.5),
			},
			KVCache: KVCache{
				BytesPerToken: new(int64(65536)), BlockSize: 32, GPUMemoryUtilization: 1,
				Watermark: new(0.0), NumGPUBlocksOverride: new(1000),
			},
			Options: SchedulerOptions{
				Profile: "vllm-0.23", MaxBatchTokens: new(2048), MaxNumSequences: new(256), Policy: PolicyPriority,
				EnablePrefixCaching: new(false), EnableChunkedPrefill: new(true), LongPrefillTokenThreshold: new(0),
				ReserveFullISL: new(false), AsyncScheduling: new(true), MaxWaiting: 12,
			},
			Latency: Latency{
				StepOverhead: new(1500 * time.Microsecond), SequenceTime: new(2500 * time.Nanosecond), OverlapHost: new(false),
				PrefillTime: new(3500 * time.Microsecond), LaunchTime: new(4500 * time.Nanosecond),
				AllReduceLatency: new(5500 * time.Nanosecond), AllReduceGBps: new(6.5), FrontEnd: new(7500 * time.Microsecond),
			},
			Efficiency: Efficiency{Compute: new(0.6), Memory: new(0.79)},
		}},
		{"profiles only", profilesOnly, Scheduler{
			Hardware:       Hardware{Where: "models.yml:2: models[0].hardware", Profile: "h200@1"},
			TensorParallel: 1,
			ModelProfile:   "llama-3.1-8b@1",
			KVCache:        KVCache{BlockSize: 16, GPUMemoryUtilization: 0.9},
			Options:        SchedulerOptions{Profile: "vllm-0.16"},
		}},
		{"a dense shape and nothing else", `models:
  - name: m
    context_length: 4096
    tokenizer: regex
    engine: scheduler
    hardware: h200@1
    shape: {layers: 1, hidden: 2, heads: 6, kv_heads: 3, head_size: 4, intermediate: 5, vocabulary: 7, bytes_per_parameter: 2, bytes_per_kv_element: 1}
    scheduler: {policy: fcfs}
`, Scheduler{
			Hardware:       Hardware{Where: "models.yml:6: models[0].hardware", Profile: "h200@1"},
			TensorParallel: 1,
			Shape: Shape{
				Layers: new(1), Hidden: new(2), Heads: new(6), KVHeads: new(3), HeadSize: new(4), Intermediate: new(5),
				Vocabulary: new(7), BytesPerParameter: new(2.0), BytesPerKVElement: new(1.0),
			},
			KVCache: KVCache{BlockSize: 16, GPUMemoryUtilization: 0.9},
			Options: SchedulerOptions{Profile: "article", Policy: PolicyFCFS},
		}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			got, err := Parse("models.yml", []byte(tc.file))
			if err != nil {
				t.Fatal(err)
			}
			want := got.Models[0]
			want.Scheduler = tc.want
			wantConfig(t, got, &Config{TimeScale: 1, Models: []Model{want}})
		})
	}
}

// TestSchedulerBounds: the ends of each range are part of it.
func TestSchedulerBounds(t *testing.T) {
	for _, line := range []string{
		"peak_tflops: 0.001", "peak_tflops: 1000000", "reserved_gib: 79.999",
		"tensor_parallel: 1024",
		"parameters_billions: 0.000000001", "parameters_billions: 1000000", "active_parameters_billions: 6.74",
		"bytes_per_parameter: 0.125", "bytes_per_parameter: 8",
		"bytes_per_token: 1", "bytes_per_token: 1099511627776", "block_size: 1", "gpu_memory_utilization: 0.001", "watermark: 0.999",
		"num_gpu_blocks_override: 1", "num_gpu_blocks_override: 67108864",
		"max_batch_tokens: 1", "max_batch_tokens: 2147483647", "max_num_sequences: 1", "max_waiting: 0", "max_waiting: 2147483647",
		"step_overhead_ms: 60000", "sequence_us: 60000000", "all_reduce_gbps: 0",
		"compute: 0.001", "memory: 1",
	} {
		if _, err := Parse("m.yml", []byte(withLine(t, line))); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
}
