package sched

import (
	"fmt"
	"strings"
)

// modelProfile is a model by the dimensions of its public config.json, in bf16
// as published. A version is never changed: a better figure is a new version.
type modelProfile struct {
	name string
	bf16 Shape // without the sizes of numbers
}

// Above each is the repository on huggingface.co whose config.json it is from.
var modelProfiles = []modelProfile{
	// meta-llama/Llama-2-7b-hf
	{"llama-2-7b@1", Shape{
		Layers: 32, Hidden: 4096, Heads: 32, KVHeads: 32, HeadSize: 128, Intermediate: 11008, Vocabulary: 32000,
	}},
	// meta-llama/Llama-2-70b-hf
	{"llama-2-70b@1", Shape{
		Layers: 80, Hidden: 8192, Heads: 64, KVHeads: 8, HeadSize: 128, Intermediate: 28672, Vocabulary: 32000,
	}},
	// meta-llama/Llama-3.1-8B
	{"llama-3.1-8b@1", Shape{
		Layers: 32, Hidden: 4096, Heads: 32, KVHeads: 8, HeadSize: 128, Intermediate: 14336, Vocabulary: 128256,
	}},
	// meta-llama/Llama-3.1-70B
	{"llama-3.1-70b@1", Shape{
		Layers: 80, Hidden: 8192, Heads: 64, KVHeads: 8, HeadSize: 128, Intermediate: 28672, Vocabulary: 128256,
	}},
	// Qwen/Qwen2.5-7B
	{"qwen2.5-7b@1", Shape{
		Layers: 28, Hidden: 3584, Heads: 28, KVHeads: 4, HeadSize: 128, Intermediate: 18944, Vocabulary: 152064, QKVBias: true,
	}},
	// Qwen/Qwen3-14B
	{"qwen3-14b@1", Shape{
		Layers: 40, Hidden: 5120, Heads: 40, KVHeads: 8, HeadSize: 128, Intermediate: 17408, Vocabulary: 151936, QKNorm: true,
	}},
	// Qwen/Qwen3-32B
	{"qwen3-32b@1", Shape{
		Layers: 64, Hidden: 5120, Heads: 64, KVHeads: 8, HeadSize: 128, Intermediate: 25600, Vocabulary: 151936, QKNorm: true,
	}},
	// Qwen/Qwen3-30B-A3B
	{"qwen3-30b-a3b@1", Shape{
		Layers: 48, Hidden: 2048, Heads: 32, KVHeads: 4, HeadSize: 128, Intermediate: 768, Vocabulary: 151936, QKNorm: true,
		Experts: 128, ActiveExperts: 8,
	}},
	// mistralai/Mistral-Nemo-Base-2407
	{"mistral-nemo-12b@1", Shape{
		Layers: 40, Hidden: 5120, Heads: 32, KVHeads: 8, HeadSize: 128, Intermediate: 14336, Vocabulary: 131072,
	}},
	// mistralai/Mixtral-8x7B-v0.1
	{"mixtral-8x7b@1", Shape{
		Layers: 32, Hidden: 4096, Heads: 32, KVHeads: 8, HeadSize: 128, Intermediate: 14336, Vocabulary: 32000,
		Experts: 8, ActiveExperts: 2,
	}},
	// codellama/CodeLlama-34b-hf
	{"codellama-34b@1", Shape{
		Layers: 48, Hidden: 8192, Heads: 64, KVHeads: 8, HeadSize: 128, Intermediate: 22016, Vocabulary: 32000,
	}},
	// 01-ai/Yi-34B
	{"yi-34b@1", Shape{
		Layers: 60, Hidden: 7168, Heads: 56, KVHeads: 8, HeadSize: 128, Intermediate: 20480, Vocabulary: 64000,
	}},
}

// ModelProfiles names the built-in models.
func ModelProfiles() []string {
	names := make([]string, len(modelProfiles))
	for i, p := range modelProfiles {
		names[i] = p.name
	}
	return names
}

// ModelProfile returns a built-in model by name, such as "llama-3.1-8b@1", in
// bf16. It is a plain value to change at will: a figure set in Model wins over
// the one that follows from its Shape.
func ModelProfile(name string) (Model, error) {
	for _, p := range modelProfiles {
		if p.name == name {
			p.bf16.BytesPerParameter, p.bf16.BytesPerKVElement = 2, 2
			return Model{Shape: p.bf16}, nil
		}
	}
	return Model{}, fmt.Errorf("model: no profile %q, there are %s", name, strings.Join(ModelProfiles(), ", "))
}
