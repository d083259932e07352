package simserver_test

import (
	"strings"
	"testing"
	"time"

	"llmsim-bench/simserver"
	"llmsim-bench/simserver/config"
)

// article is the article's base model, whose keys more can be set on.
const article = `
hardware:
  h100-80gb: {hbm_gib: 80, memory_bandwidth_gbps: 3000, peak_tflops: 989}
models:
  - name: m
    context_length: 32768
    tokenizer: regex
    engine: scheduler
    hardware: h100-80gb
    weights: {parameters_billions: 6.74, bytes_per_parameter: 2}
    kv_cache: {bytes_per_token: 524288, block_size: 16, gpu_memory_utilization: 0.9, watermark: 0.01}
    scheduler: {max_batch_tokens: 8192, max_num_sequences: 64}
    latency: {step_overhead_ms: 0}
    efficiency: {compute: 1.0, memory: 1.0}
`

func timeline(t *testing.T, yaml string) (*simserver.Timeline, error) {
	t.Helper()
	c, err := config.Parse("models.yml", []byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	return simserver.NewTimeline(c.Models[0])
}

func TestArticleModel(t *testing.T) {
	got, err := timeline(t, article)
	if err != nil {
		t.Fatal(err)
	}
	c := got.Config
	if c.NumBlocks != 7609 || c.BlockSize != 16 || c.MaxNumSeqs != 64 || c.MaxNumBatchedTokens != 8192 ||
		c.Watermark != 0.01 || !c.ReserveFullISL || c.EnablePrefixCaching || c.AsyncScheduling || c.MaxModelLen != 32768 {
		t.Errorf("%+v", c)
	}
	if got.FrontEnd != 0 {
		t.Errorf("front end %v, want none", got.FrontEnd)
	}
}

func TestProfilesCanBeOverridden(t *testing.T) {
	got, err := timeline(t, `
hardware:
  mine: {profile: h100-sxm@1, hbm_gib: 40}
models:
  - name: m
    context_length: 8192
    tokenizer: regex
    engine: scheduler
    hardware: mine
    profile: llama-3.1-8b@1
    kv_cache: {gpu_memory_utilization: 0.95}
    scheduler: {profile: vllm-0.23, max_num_sequences: 8, enable_prefix_caching: false}
    latency: {front_end_ms: 3}
`)
	if err != nil {
		t.Fatal(err)
	}
	c := got.Config
	if c.MaxNumSeqs != 8 || c.EnablePrefixCaching || !c.AsyncScheduling || c.MaxNumBatchedTokens != 8192 {
		t.Errorf("options: %+v", c)
	}
	if got.FrontEnd != 3*time.Millisecond {
		t.Errorf("front end %v, want 3 ms", got.FrontEnd)
	}
	// 40 GiB · 0.95 − 16.06 GB of weights − 1.3 GiB, in blocks of 2 MiB, less the null block.
	if c.NumBlocks < 10_800 || c.NumBlocks > 11_200 {
		t.Errorf("%d blocks", c.NumBlocks)
	}
}

func TestImpossibleModelsNameTheirPlace(t *testing.T) {
	for _, c := range []struct{ name, from, to, says string }{
		{"weights over the memory", "parameters_billions: 6.74", "parameters_billions: 70", "weights"},
		{"no block left", "parameters_billions: 6.74", "parameters_billions: 38.652", "block"},
		{"unknown hardware profile", "hardware: h100-80gb", "hardware: h900@1", "h900@1"},
		{"unknown model profile", "hardware: h100-80gb", "hardware: h100-80gb\n    profile: gpt@1", "gpt@1"},
		{"unknown scheduler profile", "scheduler: {", "scheduler: {profile: vllm-9, ", "vllm-9"},
		{"launch time without a shape", "step_overhead_ms: 0", "launch_us: 3", "LaunchTime"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := timeline(t, strings.Replace(article, c.from, c.to, 1))
			if err == nil || !strings.HasPrefix(err.Error(), "models.yml:5: models[0]: ") || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %v, want models.yml:5: models[0]: …%s…", err, c.says)
			}
		})
	}
	if _, err := simserver.NewTimeline(config.Model{Where: "x", Engine: config.EngineInstant}); err == nil {
		t.Error("an engine without steps was accepted")
	}
}
