package sched

import (
	"math"
	"strings"
	"testing"
)

var nan = math.NaN()

// The article's base model: 6.74 billion parameters of two bytes, 512 KiB of KV
// a token.
var baseModel = Model{Parameters: 6_740_000_000, BytesPerParameter: 2, KVBytesPerToken: 512 << 10}

func mustHardware(t testing.TB, name string, tensorParallel int) (Hardware, CostParams) {
	t.Helper()
	h, p, err := HardwareProfile(name, tensorParallel)
	if err != nil {
		t.Fatal(err)
	}
	return h, p
}

func TestCapacityOfTheArticlesBase(t *testing.T) {
	h, _ := mustHardware(t, "h100-80gb@1", 1)
	c, err := NewCapacity(h, baseModel, 16, 0.9)
	if err != nil {
		t.Fatal(err)
	}
	if c.Blocks != 7609 {
		t.Errorf("%d blocks, want 7609", c.Blocks)
	}
	want := "72 GiB for the engine - 12.55 GiB of weights - 0 B reserved = 59.45 GiB of cache on each GPU: 7609 blocks of 16 tokens (8 MiB)"
	if c.String() != want {
		t.Errorf("reads %q, want %q", c, want)
	}
}

// Block counts that vLLM printed when it started, in public runs and benchmark
// sets. The reserved memory is the one figure that isn't known beforehand: one
// value for each group of like runs. Two per cent is what models that share a
// value differ by.
func TestCapacityMeetsPrintedBlocks(t *testing.T) {
	for _, c := range []struct {
		vllm, hardware, model string
		tensorParallel        int
		utilization           float64
		reservedGiB           float64
		printed               int
	}{
		// H100 80 GB, one start script for all.
		{"0.15.1", "h100-sxm@1", "llama-2-7b@1", 1, 0.90, 0.5, 7463},
		{"0.15.1", "h100-sxm@1", "qwen2.5-7b@1", 1, 0.90, 0.5, 65352},
		{"0.15.1", "h100-sxm@1", "mistral-nemo-12b@1", 1, 0.90, 0.5, 19251},
		{"0.15.1", "h100-sxm@1", "mistral-nemo-12b@1", 2, 0.90, 0.9, 48009},
		{"0.15.1", "h100-sxm@1", "codellama-34b@1", 2, 0.90, 0.9, 26602},
		{"0.15.1", "h100-sxm@1", "yi-34b@1", 2, 0.90, 0.9, 20793},
		{"0.15.1", "h100-sxm@1", "mixtral-8x7b@1", 2, 0.90, 0.9, 27510},
		{"0.15.1", "h100-sxm@1", "llama-2-70b@1", 4, 0.90, 0.9, 31356},
		{"0.15.1", "h100-sxm@1", "llama-3.1-70b@1", 4, 0.90, 0.9, 30425},
		// H100 80 GB, larger steps.
		{"0.19.0", "h100-sxm@1", "llama-3.1-8b@1", 1, 0.95, 2.15, 29751},
		{"0.19.0", "h100-sxm@1", "qwen2.5-7b@1", 1, 0.95, 2.15, 68500},
		// H100 80 GB, the run that the profile's reserved memory is from.
		{"0.23.0", "h100-sxm@1", "qwen3-14b@1", 1, 0.92, 1.3, 18038},
		// The same for the RTX 4090.
		{"0.19.0", "rtx-4090@1", "llama-3.1-8b@1", 1, 0.90, 1.15, 2588},
	} {
		h, _ := mustHardware(t, c.hardware, c.tensorParallel)
		h.ReservedGiB = c.reservedGiB
		got, err := NewCapacity(h, mustModel(t, c.model), 16, c.utilization)
		if err != nil {
			t.Errorf("vLLM %s, %s: %v", c.vllm, c.model, err)
			continue
		}
		if off := math.Abs(float64(got.Blocks)/float64(c.printed) - 1); off > 0.021 {
			t.Errorf("vLLM %s, %s on %d: %d blocks, vLLM printed %d: %.2f %% off",
				c.vllm, c.model, c.tensorParallel, got.Blocks, c.printed, 100*off)
		}
	}
}

func TestKVHeadsAreCopiedWhenTheyAreFewerThanTheGPUs(t *testing.T) {
	m := mustModel(t, "qwen3-30b-a3b@1") // 4 KV heads
	perToken := func(gpus int) int64 {
		h, _ := mustHardware(t, "h200@1", gpus)
		c, err := NewCapacity(h, m, 1, 0.9)
		if err != nil {
			t.Fatal(err)
		}
		return c.BlockBytes
	}
	one := perToken(1)
	if want := m.Shape.KVBytesPerToken(); one != want {
		t.Errorf("one GPU: %d KV bytes a token, want %d", one, want)
	}
	for gpus, want := range map[int]int64{2: one / 2, 4: one / 4, 8: one / 4, 16: one / 4} {
		if got := perToken(gpus); got != want {
			t.Errorf("%d GPUs: %d KV bytes a token on each, want %d", gpus, got, want)
		}
	}
	m = Model{Parameters: 1, BytesPerParameter: 1, KVBytesPerToken: 70_001}
	if got := perToken(16); got != 4376 {
		t.Errorf("70001 bytes on 16 GPUs: %d on each, want 4375.06 rounded up", got)
	}
}

func TestImpossibleCapacityIsRefusedWithTheArithmetic(t *testing.T) {
	h100, _ := mustHardware(t, "h100-sxm@1", 1)
	h4090, _ := mustHardware(t, "rtx-4090@1", 1)
	small := baseModel
	with := func(f func(*Hardware)) Hardware {
		h := h100
		f(&h)
		return h
	}
	for _, c := range []struct {
		name        string
		hardware    Hardware
		model       Model
		blockSize   int
		utilization float64
		want        string
	}{
		{
			"weights", h100, mustModel(t, "llama-3.1-70b@1"), 16, 0.9,
			"KV cache: the weights do not fit: 71.27 GiB for the engine - 131.4 GiB of weights - 1.3 GiB reserved = -61.45 GiB of cache on each GPU; " +
				"MemoryGiB is 79.19 and must be at least 147.47 at a utilization of 0.9, or TensorParallel, which is 1, at least 2",
		},
		{
			"one block", with(func(h *Hardware) { h.MemoryGiB, h.ReservedGiB = 13.952, 0 }), small, 16, 0.9,
			"KV cache: not one block fits: 12.56 GiB for the engine - 12.55 GiB of weights - 0 B reserved = 2.633 MiB of cache on each GPU, " +
				"less than a block of 16 tokens (8 MiB); MemoryGiB is 13.952 and must be at least 13.96 at a utilization of 0.9",
		},
		{
			"reserved", with(func(h *Hardware) { h.ReservedGiB = 79 }), small, 16, 0.9,
			"- 79 GiB reserved = -20.28 GiB of cache on each GPU; MemoryGiB is 79.19 and must be at least 101.74",
		},
		{"too many", h4090, Model{Parameters: 1, BytesPerParameter: 1, KVBytesPerToken: 1}, 1, 1, "blocks of 1 tokens, must be at most 67108864: use a larger block size"},
		{"block size", h100, small, 0, 0.9, "KV cache: block size is 0, must be 1 to 1048576"},
		{"utilization 0", h100, small, 16, 0, "GPU memory utilization is 0, must be 0.001 to 1"},
		{"utilization 90", h100, small, 16, 90, "GPU memory utilization is 90, must be 0.001 to 1"},
		{"utilization NaN", h100, small, 16, nan, "GPU memory utilization is NaN"},
		{"no hardware", Hardware{}, small, 16, 0.9, "hardware: MemoryGiB is 0, must be 0.001 to 1000000"},
		{"memory", with(func(h *Hardware) { h.MemoryGiB = -1 }), small, 16, 0.9, "MemoryGiB is -1"},
		{"infinite", with(func(h *Hardware) { h.MemoryGiB = math.Inf(1) }), small, 16, 0.9, "MemoryGiB is +Inf"},
		{"negative reserve", with(func(h *Hardware) { h.ReservedGiB = -1 }), small, 16, 0.9, "ReservedGiB is -1, must be 0 to 79.19"},
		{"parallel", with(func(h *Hardware) { h.TensorParallel = -2 }), small, 16, 0.9, "TensorParallel is -2, must be 0 to 1024"},
		{"heads", with(func(h *Hardware) { h.TensorParallel = 3 }), mustModel(t, "qwen3-14b@1"), 16, 0.9, "TensorParallel is 3, must divide the model's 40 heads"},
		{"KV heads", with(func(h *Hardware) { h.TensorParallel = 5 }), mustModel(t, "qwen3-14b@1"), 16, 0.9, "TensorParallel is 5, must divide the model's 8 KV heads or be a multiple of them"},
		{"model", h100, Model{}, 16, 0.9, "model: Parameters is 0"},
	} {
		got, err := NewCapacity(c.hardware, c.model, c.blockSize, c.utilization)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, error\n%v\nwant in it\n%s", c.name, got, err, c.want)
		}
	}
}

func TestTheAdviceOfARefusalHolds(t *testing.T) {
	llama70 := mustModel(t, "llama-3.1-70b@1")
	h, _ := mustHardware(t, "h100-sxm@1", 1)
	for name, follow := range map[string]func(*Hardware){
		"memory": func(h *Hardware) { h.MemoryGiB = 147.47 },
		"GPUs":   func(h *Hardware) { h.TensorParallel = 2 },
	} {
		better := h
		follow(&better)
		if _, err := NewCapacity(better, llama70, 16, 0.9); err != nil {
			t.Errorf("%s as advised: %v", name, err)
		}
	}
	h.MemoryGiB = 147.46
	if c, err := NewCapacity(h, llama70, 16, 0.9); err == nil {
		t.Errorf("with less memory than advised: %v", c)
	}
}
