package sched

import (
	"strings"
	"testing"
)

func mustModel(t testing.TB, name string) Model {
	t.Helper()
	m, err := ModelProfile(name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// The number of weights in each published checkpoint (the safetensors metadata
// of the repository a profile names; a checkpoint's rotary tables are no
// weights), and how many the model card says are active.
func TestShapesHaveThePublishedParameters(t *testing.T) {
	for _, c := range []struct {
		model   string
		total   int64
		activeB float64 // 10^9, to the digits the card gives
	}{
		{"llama-2-7b@1", 6_738_415_616, 6.7},
		{"llama-2-70b@1", 68_976_648_192, 69.0},
		{"llama-3.1-8b@1", 8_030_261_248, 8.0},
		{"llama-3.1-70b@1", 70_553_706_496, 70.6},
		{"qwen2.5-7b@1", 7_615_616_512, 7.6},
		{"qwen3-14b@1", 14_768_307_200, 14.8},
		{"qwen3-32b@1", 32_762_123_264, 32.8},
		{"qwen3-30b-a3b@1", 30_532_122_624, 3.35},
		{"mistral-nemo-12b@1", 12_247_782_400, 12.2},
		{"mixtral-8x7b@1", 46_702_792_704, 12.9},
		{"codellama-34b@1", 33_743_970_304, 33.7},
		{"yi-34b@1", 34_388_917_248, 34.4},
	} {
		shape := mustModel(t, c.model).Shape
		if got := shape.Parameters(); got != c.total {
			t.Errorf("%s: %d parameters, want %d", c.model, got, c.total)
		}
		if got := float64(shape.ActiveParameters()) / 1e9; got < c.activeB-0.05 || got > c.activeB+0.05 {
			t.Errorf("%s: %.2f billion active, want %v", c.model, got, c.activeB)
		}
	}
}

func TestTiedEmbeddingsAreCountedOnce(t *testing.T) {
	// Qwen3-0.6B, a small model with tied embeddings: 596,049,920 parameters.
	s := Shape{
		Layers: 28, Hidden: 1024, Heads: 16, KVHeads: 8, HeadSize: 128, Intermediate: 3072, Vocabulary: 151936,
		QKNorm: true, TiedEmbeddings: true, BytesPerParameter: 2, BytesPerKVElement: 2,
	}
	if got := s.Parameters(); got != 596_049_920 {
		t.Errorf("%d parameters, want 596049920", got)
	}
}

func TestShapeGivesKVBytesAndFLOPs(t *testing.T) {
	llama2 := mustModel(t, "llama-2-7b@1").Shape
	// 2 · 32 layers · 32 heads · 128 · 2 bytes: the 512 KiB everybody quotes.
	if got := llama2.KVBytesPerToken(); got != 512<<10 {
		t.Errorf("llama-2-7b: %d KV bytes a token, want %d", got, 512<<10)
	}
	llama2.BytesPerKVElement = 1
	if got := llama2.KVBytesPerToken(); got != 256<<10 {
		t.Errorf("with an fp8 cache: %d KV bytes a token, want %d", got, 256<<10)
	}
	// Eight KV heads for 64 queries: an eighth of the cache, all of the FLOPs.
	llama70 := mustModel(t, "llama-3.1-70b@1").Shape
	if got := llama70.KVBytesPerToken(); got != 320<<10 {
		t.Errorf("llama-3.1-70b: %d KV bytes a token, want %d", got, 320<<10)
	}
	if got := llama70.AttentionFLOPsPerPair(); got != 4*80*64*128 {
		t.Errorf("llama-3.1-70b: %d attention FLOPs a pair, want %d", got, 4*80*64*128)
	}
	if got := llama70.GEMMs(); got != 321 {
		t.Errorf("llama-3.1-70b: %d GEMMs, want 4 · 80 + 1", got)
	}
	if got := mustModel(t, "mixtral-8x7b@1").Shape.GEMMs(); got != 161 {
		t.Errorf("mixtral-8x7b: %d GEMMs, want 5 · 32 + 1", got)
	}
}

func TestAModelsOwnFiguresWinOverItsShape(t *testing.T) {
	m := mustModel(t, "mixtral-8x7b@1")
	plain, err := m.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := plain.Resolve(); err != nil || again != plain {
		t.Errorf("resolved twice: %+v, %v, want %+v", again, err, plain)
	}
	m.BytesPerParameter, m.KVBytesPerToken, m.Parameters = 0.5, 64<<10, plain.Parameters+1_000_000
	got, err := m.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	want := plain
	want.BytesPerParameter, want.KVBytesPerToken = 0.5, 64<<10
	want.Parameters += 1_000_000
	want.ActiveParameters += 1_000_000
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestBadModelsAreRefused(t *testing.T) {
	change := func(f func(*Model)) Model {
		m := mustModel(t, "mixtral-8x7b@1")
		f(&m)
		return m
	}
	for _, c := range []struct {
		model Model
		want  string
	}{
		{Model{}, "model: Parameters is 0, must be 1 to 1000000000000000"},
		{Model{Parameters: -7}, "Parameters is -7, must be"},
		{Model{Parameters: 7}, "BytesPerParameter is 0, must be 0.125 to 8"},
		{Model{Parameters: 7, BytesPerParameter: 2}, "KVBytesPerToken is 0, must be"},
		{Model{Parameters: 7, ActiveParameters: 8, BytesPerParameter: 2, KVBytesPerToken: 1}, "ActiveParameters is 8, must be 1 to 7"},
		{Model{Parameters: 7, BytesPerParameter: nan, KVBytesPerToken: 1}, "BytesPerParameter is NaN"},
		{Model{Parameters: 7, BytesPerParameter: 2, KVBytesPerToken: 1 << 50}, "KVBytesPerToken is 1125899906842624, must be 1 to 1099511627776"},
		{change(func(m *Model) { m.Shape.Layers = 0 }), "model shape: Layers is 0, must be 1 to 1024"},
		{change(func(m *Model) { m.Shape.Hidden = -1 }), "Hidden is -1"},
		{change(func(m *Model) { m.Shape.KVHeads = 64 }), "KVHeads is 64, must be 1 to 32"},
		{change(func(m *Model) { m.Shape.KVHeads = 5 }), "KVHeads is 5, must divide Heads (32)"},
		{change(func(m *Model) { m.Shape.HeadSize = 0 }), "HeadSize is 0"},
		{change(func(m *Model) { m.Shape.Intermediate = 0 }), "Intermediate is 0"},
		{change(func(m *Model) { m.Shape.Vocabulary = 1 << 30 }), "Vocabulary is 1073741824, must be 1 to 16777216"},
		{change(func(m *Model) { m.Shape.ActiveExperts = 9 }), "ActiveExperts is 9, must be 1 to 8"},
		{change(func(m *Model) { m.Shape.ActiveExperts = 0 }), "ActiveExperts is 0, must be 1 to 8"},
		{change(func(m *Model) { m.Shape.Experts = 0 }), "ActiveExperts is 2, must be 0 to 0"},
		{change(func(m *Model) { m.Shape.BytesPerKVElement = 0 }), "BytesPerKVElement is 0"},
		{change(func(m *Model) { m.Parameters = 1e9 }), "Parameters is 1000000000, must be at least the 45097156608 of the experts"},
	} {
		if _, err := c.model.Resolve(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error is %v, want %q in it", err, c.want)
		}
	}
}
