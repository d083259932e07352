package sched

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func mustCost(t testing.TB, h Hardware, m Model, p CostParams) *CostModel {
	t.Helper()
	c, err := NewCostModel(h, m, p)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// batch is n sequences, each with so many tokens before the step and in it.
func batch(n, context, tokens int) []Scheduled {
	seqs := make([]Scheduled, n)
	for i := range seqs {
		seqs[i] = Scheduled{Context: int32(context), New: int32(tokens), Prefill: tokens > 1}
	}
	return seqs
}

func step(parts ...[]Scheduled) *Step {
	s := &Step{}
	for _, seqs := range parts {
		s.Seqs = append(s.Seqs, seqs...)
	}
	return s
}

const ms = float64(time.Millisecond)

func near(t *testing.T, what string, got time.Duration, want, tolerance float64) {
	t.Helper()
	if math.Abs(float64(got)-want) > tolerance {
		t.Errorf("%s: %v, want %v", what, got, time.Duration(want))
	}
}

// The figures of the article's base model: 3,000 GB/s, 989 TFLOP/s, no overhead.
func TestCostOfTheArticlesSteps(t *testing.T) {
	h, p := mustHardware(t, "h100-80gb@1", 1)
	c := mustCost(t, h, baseModel, p)
	prompts := func(n int) *Step { return step(batch(n, 0, 512), batch(64, 543, 1)) }
	for _, tc := range []struct {
		name            string
		step            *Step
		compute, memory float64 // ms, to the digits given
		digit           float64
	}{
		{"a short decode", step(batch(1, 1, 1)), 0.01, 4.49, 0.01},
		{"29 sequences of 4096", step(batch(29, 4095, 1)), 0.40, 25.25, 0.01},
		{"a chunk of 8192", step(batch(1, 0, 8192)), 111.7, 5.9, 0.1},
		{"a chunk of 2048", step(batch(1, 0, 2048)), 27.9, 4.9, 0.1},
		{"a prompt of 512 with 64 decodes", prompts(1), 7.85, 10.67, 0.01},
		{"three such prompts", prompts(3), 21.8, 10.8, 0.1},
	} {
		got := c.Cost(tc.step)
		near(t, tc.name+", compute", got.Compute, tc.compute*ms, tc.digit/2*ms)
		near(t, tc.name+", memory", got.Memory, tc.memory*ms, tc.digit/2*ms)
		if got.Duration != max(got.Compute, got.Memory) || got.Device != 0 || got.Host != 0 {
			t.Errorf("%s: %+v, want the larger of compute and memory and nothing else", tc.name, got)
		}
	}
	// To the nanosecond: (13.48e9 + 2 · 524288) / 3000 and 2 · 6.74e9 / 989e3.
	want := StepCost{Duration: 4_493_683, Compute: 13_630, Memory: 4_493_683}
	if got := c.Cost(step(batch(1, 1, 1))); got != want {
		t.Errorf("a short decode costs %+v, want %+v", got, want)
	}
	if got := c.Cost(&Step{}); got != (StepCost{}) {
		t.Errorf("an empty step costs %+v", got)
	}
}

func TestEfficienciesScaleTheirOwnSide(t *testing.T) {
	h, p := mustHardware(t, "h100-80gb@1", 1)
	s := step(batch(8, 100, 1), batch(1, 0, 500))
	whole := mustCost(t, h, baseModel, p).Cost(s)
	p.ComputeEfficiency, p.MemoryEfficiency = 0.5, 0.25
	got := mustCost(t, h, baseModel, p).Cost(s)
	near(t, "compute", got.Compute, 2*float64(whole.Compute), 1)
	near(t, "memory", got.Memory, 4*float64(whole.Memory), 2)
}

func TestEveryTermAddsWhatItSays(t *testing.T) {
	h, _ := mustHardware(t, "h100-sxm@1", 2)
	m := mustModel(t, "llama-3.1-8b@1")
	bare := mustCost(t, h, m, CostParams{})
	decode := step(batch(10, 1000, 1))
	mixed := step(batch(10, 1000, 1), batch(1, 0, 90))
	const us = time.Microsecond
	for _, tc := range []struct {
		name                     string
		params                   CostParams
		decodeDevice, decodeHost time.Duration
		mixedDevice, mixedHost   time.Duration
	}{
		{"overhead", CostParams{StepOverhead: time.Millisecond}, 0, time.Millisecond, 0, time.Millisecond},
		{"by sequence", CostParams{SequenceTime: 20 * us}, 0, 200 * us, 0, 220 * us},
		{"prefill", CostParams{PrefillTime: 3 * time.Millisecond}, 0, 0, 3 * time.Millisecond, 0},
		// 4 · 32 layers and the logits.
		{"launch", CostParams{LaunchTime: 10 * us}, 1290 * us, 0, 1290 * us, 0},
		// Two for each of 32 layers.
		{"all-reduce latency", CostParams{AllReduceLatency: 5 * us}, 320 * us, 0, 320 * us, 0},
		// 64 · tokens · 4096 · 2 bytes at 32.768 GB/s: 16 µs a token.
		{"all-reduce bytes", CostParams{AllReduceGBps: 32.768}, 160 * us, 0, 1600 * us, 0},
		{"front end", CostParams{FrontEnd: time.Second}, 0, 0, 0, 0},
		{
			"together",
			CostParams{StepOverhead: time.Millisecond, SequenceTime: 20 * us, PrefillTime: 3 * time.Millisecond, LaunchTime: 10 * us},
			1290 * us, 1200 * us, 4290 * us, 1220 * us,
		},
	} {
		c := mustCost(t, h, m, tc.params)
		for name, v := range map[string]struct {
			step         *Step
			device, host time.Duration
		}{
			"decode": {decode, tc.decodeDevice, tc.decodeHost},
			"mixed":  {mixed, tc.mixedDevice, tc.mixedHost},
		} {
			want := bare.Cost(v.step)
			want.Device, want.Host = v.device, v.host
			want.Duration += v.device + v.host
			if got := c.Cost(v.step); got != want {
				t.Errorf("%s, %s: %+v, want %+v", tc.name, name, got, want)
			}
		}
		if c.FrontEnd() != tc.params.FrontEnd {
			t.Errorf("%s: front end %v, want %v", tc.name, c.FrontEnd(), tc.params.FrontEnd)
		}
	}
}

func TestOverlapHidesTheShorterOfHostAndGPU(t *testing.T) {
	h, p := mustHardware(t, "h100-80gb@1", 1)
	p.OverlapHost = true
	p.PrefillTime = time.Millisecond
	s := step(batch(1, 0, 2))
	for _, overhead := range []time.Duration{0, time.Millisecond, 50 * time.Millisecond} {
		p.StepOverhead = overhead
		got := mustCost(t, h, baseModel, p).Cost(s)
		if want := max(got.Memory+time.Millisecond, overhead); got.Duration != want || got.Host != overhead {
			t.Errorf("overhead %v: %+v, want a duration of %v", overhead, got, want)
		}
	}
}

// Two GPUs halve weights, KV and FLOPs; one all-reduces nothing.
func TestTensorParallelDivides(t *testing.T) {
	m := mustModel(t, "llama-2-70b@1")
	s := step(batch(16, 3000, 1), batch(1, 1000, 1000))
	one, params := mustHardware(t, "h100-sxm@1", 1)
	params.AllReduceLatency, params.AllReduceGBps = time.Millisecond, 1
	alone := mustCost(t, one, m, params).Cost(s)
	if alone.Device != 0 {
		t.Errorf("one GPU spends %v beside the roofline, want nothing", alone.Device)
	}
	for _, gpus := range []int{2, 4, 8} {
		h := one
		h.TensorParallel = gpus
		got := mustCost(t, h, m, params).Cost(s)
		near(t, "compute", got.Compute, float64(alone.Compute)/float64(gpus), 1)
		near(t, "memory", got.Memory, float64(alone.Memory)/float64(gpus), 1)
		// 160 all-reduces of a millisecond and of 1016 tokens · 8192 · 2 bytes at 1 GB/s.
		near(t, "all-reduces", got.Device, 160*(ms+1016*8192*2), 1)
	}
}

// Attention grows with the square of the prompt: it was seen to be about 8 % of
// the rest for 8k tokens on 70B, and about 60 % for 32k on 8B (of the weights
// without embeddings).
func TestAttentionFLOPs(t *testing.T) {
	for _, c := range []struct {
		model  string
		tokens int
		share  float64
	}{
		{"llama-3.1-70b@1", 8192, 0.076},
		{"llama-3.1-8b@1", 32768, 0.535},
	} {
		h, _ := mustHardware(t, "h100-80gb@1", 1)
		m := mustModel(t, c.model)
		dense := mustCost(t, h, Model{
			Parameters: m.Shape.Parameters(), BytesPerParameter: 2, KVBytesPerToken: m.Shape.KVBytesPerToken(),
		}, CostParams{})
		full := mustCost(t, h, m, CostParams{})

		whole := step(batch(1, 0, c.tokens))
		without, with := dense.Cost(whole), full.Cost(whole)
		if share := float64(with.Compute)/float64(without.Compute) - 1; math.Abs(share-c.share) > 0.001 {
			t.Errorf("%s: attention adds %.3f to the compute of %d tokens, want %.3f", c.model, share, c.tokens, c.share)
		}
		if with.Memory != without.Memory {
			t.Errorf("%s: memory %v, without the shape %v", c.model, with.Memory, without.Memory)
		}

		// Chunks of a prompt do the work of the whole, down to its last pair.
		var sum time.Duration
		for context := 0; context < c.tokens; context += 1024 {
			sum += full.Cost(step(batch(1, context, 1024))).Compute
		}
		near(t, "in chunks", sum, float64(with.Compute), float64(c.tokens/1024))
	}
}

// Token i of a chunk attends to the context, the tokens before it and itself.
func TestAttentionPairs(t *testing.T) {
	h, _ := mustHardware(t, "h100-80gb@1", 1)
	h.PeakTFLOPS = 0.001 // one FLOP a nanosecond
	m := mustModel(t, "llama-3.1-8b@1")
	c := mustCost(t, h, m, CostParams{})
	dense := 2 * m.Shape.Parameters()
	pair := m.Shape.AttentionFLOPsPerPair()
	for _, tc := range []struct{ context, tokens, pairs int64 }{
		{0, 1, 1}, {0, 2, 1 + 2}, {3, 1, 4}, {3, 2, 4 + 5}, {10, 4, 11 + 12 + 13 + 14},
	} {
		got := c.Cost(step(batch(1, int(tc.context), int(tc.tokens)))).Compute
		if want := time.Duration(tc.tokens*dense + tc.pairs*pair); got != want {
			t.Errorf("%d tokens after %d: %d FLOPs, want %d", tc.tokens, tc.context, got, want)
		}
	}
}

// Mixtral reads two of eight experts for one token, and 1 − (3/4)^n of them for n.
func TestExpertsAreReadAsTokensChooseThem(t *testing.T) {
	h, _ := mustHardware(t, "h100-80gb@1", 2)
	m := mustModel(t, "mixtral-8x7b@1")
	c := mustCost(t, h, m, CostParams{})
	experts := float64(m.Shape.ExpertParameters())
	others := float64(m.Shape.Parameters()) - experts
	for tokens, share := range map[int]float64{1: 0.25, 2: 0.4375, 3: 0.578125, 1000: 1} {
		kv := float64(tokens) * float64(m.Shape.KVBytesPerToken())
		want := (2*(others+share*experts) + kv) / 2 / 3000
		near(t, "memory", c.Cost(step(batch(tokens, 0, 1))).Memory, want, 1)
	}
	// Two of eight: 12.9 of 46.7 billion parameters compute.
	near(t, "compute", c.Cost(step(batch(1, 0, 1))).Compute, 2*12.88e9/2/989e3, 4)
}

func TestBadCostsAreRefused(t *testing.T) {
	h, _ := mustHardware(t, "h100-sxm@1", 2)
	for _, c := range []struct {
		model  Model
		params CostParams
		want   string
	}{
		{baseModel, CostParams{ComputeEfficiency: 1.2}, "cost model: ComputeEfficiency is 1.2, must be 0.001 to 1"},
		{baseModel, CostParams{ComputeEfficiency: nan}, "ComputeEfficiency is NaN"},
		{baseModel, CostParams{MemoryEfficiency: -0.5}, "MemoryEfficiency is -0.5, must be 0.001 to 1"},
		{baseModel, CostParams{AllReduceGBps: -1}, "AllReduceGBps is -1, must be 0 to 1000000"},
		{baseModel, CostParams{StepOverhead: -time.Millisecond}, "cost model: StepOverhead is -1ms, must be 0s to 1m0s"},
		{baseModel, CostParams{SequenceTime: time.Hour}, "SequenceTime is 1h0m0s, must be 0s to 1m0s"},
		{baseModel, CostParams{PrefillTime: -1}, "PrefillTime is -1ns"},
		{baseModel, CostParams{LaunchTime: -1}, "LaunchTime is -1ns"},
		{baseModel, CostParams{AllReduceLatency: -1}, "AllReduceLatency is -1ns"},
		{baseModel, CostParams{FrontEnd: -1}, "FrontEnd is -1ns"},
		{baseModel, CostParams{LaunchTime: 1}, "LaunchTime is set, but counts the matrix multiplications of a Shape"},
		{baseModel, CostParams{AllReduceLatency: 1}, "AllReduceLatency or AllReduceGBps is set with TensorParallel"},
		{baseModel, CostParams{AllReduceGBps: 1}, "AllReduceLatency or AllReduceGBps is set with TensorParallel"},
		{Model{}, CostParams{}, "model: Parameters is 0"},
	} {
		if _, err := NewCostModel(h, c.model, c.params); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error is %v, want %q in it", err, c.want)
		}
	}
	h.TensorParallel = 1
	if _, err := NewCostModel(h, baseModel, CostParams{AllReduceLatency: 1, AllReduceGBps: 1}); err != nil {
		t.Errorf("a link that one GPU does not use: %v", err)
	}
	for want, bad := range map[string]func(*Hardware){
		"hardware: PeakTFLOPS is 0, must be 0.001 to 1000000": func(h *Hardware) { h.PeakTFLOPS = 0 },
		"hardware: BandwidthGBps is NaN":                      func(h *Hardware) { h.BandwidthGBps = nan },
		"hardware: TensorParallel is 2000, must be 0 to 1024": func(h *Hardware) { h.TensorParallel = 2000 },
	} {
		h := h
		bad(&h)
		if _, err := NewCostModel(h, baseModel, CostParams{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want %q in it", err, want)
		}
	}
}

// Whatever is configured and scheduled: no part is negative, the duration is what
// the parts say, and a step that does more is never shorter.
func TestCostGrowsWithTheStep(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(HardwareProfiles()).Draw(t, "hardware")
		h, p, err := HardwareProfile(name, 1<<rapid.IntRange(0, 2).Draw(t, "log2 GPUs"))
		if err != nil {
			t.Fatal(err)
		}
		m, err := ModelProfile(rapid.SampledFrom(ModelProfiles()).Draw(t, "model"))
		if err != nil {
			t.Fatal(err)
		}
		micros := rapid.Map(rapid.IntRange(0, 5000), func(us int) time.Duration { return time.Duration(us) * time.Microsecond })
		p.SequenceTime = micros.Draw(t, "by sequence")
		p.PrefillTime = micros.Draw(t, "prefill")
		p.LaunchTime = micros.Draw(t, "launch")
		p.OverlapHost = rapid.Bool().Draw(t, "overlap")
		c, err := NewCostModel(h, m, p)
		if err != nil {
			t.Fatal(err)
		}

		s := &Step{Seqs: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Scheduled {
			return Scheduled{
				Context: rapid.Int32Range(0, maxModelLen).Draw(t, "context"),
				New:     rapid.Int32Range(1, math.MaxInt32/64).Draw(t, "new"),
				Prefill: rapid.Bool().Draw(t, "is prefill"),
			}
		}), 1, 64).Draw(t, "step")}
		whole := c.Cost(s)
		if again := c.Cost(s); again != whole {
			t.Fatalf("the same step costs %+v, then %+v", whole, again)
		}
		gpu := max(whole.Compute, whole.Memory) + whole.Device
		want := gpu + whole.Host
		if p.OverlapHost {
			want = max(gpu, whole.Host)
		}
		if whole.Duration != want || min(whole.Compute, whole.Memory) <= 0 || min(whole.Device, whole.Host) < 0 {
			t.Fatalf("%+v, want a duration of %v and no negative part", whole, want)
		}

		s.Seqs = s.Seqs[:len(s.Seqs)-1]
		less := c.Cost(s)
		if less.Compute > whole.Compute || less.Memory > whole.Memory || less.Device > whole.Device || less.Host > whole.Host {
			t.Fatalf("without the last sequence %+v, with it %+v", less, whole)
		}
	})
}

func TestCostDoesNotAllocate(t *testing.T) {
	h, p := mustHardware(t, "h100-sxm@1", 4)
	c := mustCost(t, h, mustModel(t, "mixtral-8x7b@1"), p)
	s := step(batch(64, 500, 1), batch(2, 0, 512))
	var sum time.Duration
	if n := testing.AllocsPerRun(100, func() { sum += c.Cost(s).Duration }); n != 0 {
		t.Errorf("%v allocations a step, want none", n)
	}
	if sum == 0 {
		t.Error("the steps cost nothing")
	}
}

func TestCostStopsBeforeItOverflows(t *testing.T) {
	h := Hardware{MemoryGiB: 1, BandwidthGBps: 0.001, PeakTFLOPS: 0.001}
	m := Model{Parameters: maxParameters, BytesPerParameter: 8, KVBytesPerToken: maxKVBytesPerToken}
	c := mustCost(t, h, m, CostParams{ComputeEfficiency: 0.001, MemoryEfficiency: 0.001, SequenceTime: time.Minute})
	got := c.Cost(step(batch(1000, 1<<30, 1<<20)))
	if got.Duration != 1<<60+1000*time.Minute {
		t.Errorf("an absurd step costs %+v", got)
	}
}

func BenchmarkCost(b *testing.B) {
	h, p := mustHardware(b, "h100-sxm@1", 4)
	for _, model := range []string{"llama-3.1-70b@1", "mixtral-8x7b@1"} {
		c := mustCost(b, h, mustModel(b, model), p)
		s := step(batch(256, 500, 1))
		b.Run(model+"/256", func(b *testing.B) {
			b.ReportAllocs()
			var sum time.Duration
			for b.Loop() {
				sum += c.Cost(s).Duration
			}
			if sum == 0 {
				b.Fatal("the steps cost nothing")
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/256, "ns/seq")
		})
	}
}
