package config

import (
	"testing"
	"time"
)

// FuzzParse: no file makes the reader panic, and what it accepts is within the
// limits it promises.
func FuzzParse(f *testing.F) {
	f.Add([]byte(model))
	f.Add(defaultModels)
	f.Add([]byte(article))
	f.Add([]byte(batched))
	f.Add([]byte(everyKey))
	f.Add([]byte(profilesOnly))
	f.Add([]byte("models: &m [*m]\n"))
	f.Add([]byte("a: &a [x]\nmodels: [{<<: *a, ? {b: c} : d}]"))
	f.Add([]byte("models: !!binary [{name: !!int x}]"))
	f.Add([]byte("hardware: {? : {hbm_gib: .nan}, a@1: [], b: {profile: x@1, reserved_gib: -0}}\nmodels: [{engine: scheduler, hardware: b, shape: {heads: 0, kv_heads: 0}}]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse("m.yml", data)
		if (c == nil) == (err == nil) {
			t.Fatalf("config %s with error %v", dump(c), err)
		}
		if err != nil {
			return
		}
		if len(c.Models) == 0 {
			t.Fatal("accepted without a model")
		}
		for _, m := range c.Models {
			bad := m.Where == "" || m.Name == "" || m.ContextLength < 1 || m.Tokenizer == "" || m.Engine == "" ||
				m.FixedRate.ITL < 0 || m.FixedRate.Overhead < 0 ||
				m.Engine == EngineFixedRate && !(m.FixedRate.PrefillTokensPerSecond > 0) ||
				m.Engine == EngineScheduler && !promised(m.Scheduler)
			if bad {
				t.Fatalf("accepted %s", dump(c))
			}
		}
	})
}

// promised says whether everything is there that could come from nowhere else,
// and every figure is in its range. NaN is in none.
func promised(s Scheduler) bool {
	h, w, shape, kv, o, l := s.Hardware, s.Weights, s.Shape, s.KVCache, s.Options, s.Latency
	own := s.ModelProfile == "" && shape == Shape{}
	return h.Where != "" && (h.Profile != "" || h.MemoryGiB != nil && h.BandwidthGBps != nil && h.PeakTFLOPS != nil) &&
		(!own || w.Parameters != nil && w.BytesPerParameter != nil && kv.BytesPerToken != nil) &&
		(s.ModelProfile != "" || shape == Shape{} || shape.Layers != nil && shape.Vocabulary != nil && shape.BytesPerKVElement != nil) &&
		within(h.MemoryGiB, 0.001, 1e6) && within(h.BandwidthGBps, 0.001, 1e6) && within(h.PeakTFLOPS, 0.001, 1e6) && within(h.ReservedGiB, 0, 1e6) &&
		within(&s.TensorParallel, 1, 1024) &&
		within(w.Parameters, 1, 1e15) && within(w.ActiveParameters, 1, 1e15) && within(w.BytesPerParameter, 0.125, 8) &&
		within(shape.Layers, 1, 1<<10) && within(shape.Hidden, 1, 1<<17) && within(shape.Heads, 1, 1<<10) && within(shape.KVHeads, 1, 1<<10) &&
		within(shape.HeadSize, 1, 1<<12) && within(shape.Intermediate, 1, 1<<20) && within(shape.Vocabulary, 1, 1<<24) &&
		within(shape.Experts, 0, 1<<12) && within(shape.ActiveExperts, 0, 1<<12) &&
		within(shape.BytesPerParameter, 0.125, 8) && within(shape.BytesPerKVElement, 0.125, 8) &&
		within(kv.BytesPerToken, 1, 1<<40) && within(&kv.BlockSize, 1, 1<<20) && within(&kv.GPUMemoryUtilization, 0.001, 1) &&
		within(kv.Watermark, 0, 0.9999999999999999) && within(kv.NumGPUBlocksOverride, 1, 1<<26) &&
		o.Profile != "" && (o.Policy == "" || o.Policy == PolicyFCFS || o.Policy == PolicyPriority) &&
		within(o.MaxBatchTokens, 1, 1<<31-1) && within(o.MaxNumSequences, 1, 1<<31-1) && within(o.LongPrefillTokenThreshold, 0, 1<<31-1) &&
		within(l.StepOverhead, 0, time.Minute) && within(l.SequenceTime, 0, time.Minute) && within(l.PrefillTime, 0, time.Minute) &&
		within(l.LaunchTime, 0, time.Minute) && within(l.AllReduceLatency, 0, time.Minute) && within(l.FrontEnd, 0, time.Minute) &&
		within(l.AllReduceGBps, 0, 1e6) &&
		within(s.Efficiency.Compute, 0.001, 1) && within(s.Efficiency.Memory, 0.001, 1)
}

// within holds for a figure that is not there.
func within[T int | int64 | float64 | time.Duration](figure *T, low, high T) bool {
	return figure == nil || *figure >= low && *figure <= high
}
