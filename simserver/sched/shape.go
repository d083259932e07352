package sched

import "fmt"

// Shape is a decoder-only transformer by its dimensions, as a model card's
// config.json gives them: attention with grouped KV heads and a gated
// feed-forward network (three matrices), in every layer the same. Parameters,
// KV bytes and FLOPs follow from it. The zero Shape is "not known".
type Shape struct {
	// Layers is num_hidden_layers, Hidden the width hidden_size.
	Layers, Hidden int
	// Heads is num_attention_heads; KVHeads is num_key_value_heads and divides
	// Heads; HeadSize is head_dim.
	Heads, KVHeads, HeadSize int
	// Intermediate is the width of the feed-forward network, intermediate_size, or
	// of one expert (moe_intermediate_size where the card has it).
	Intermediate int
	Vocabulary   int
	// Experts is how many experts each layer has, ActiveExperts how many of them a
	// token visits. 0 and 0: a dense model.
	Experts, ActiveExperts int
	// TiedEmbeddings says that input and output share one embedding matrix,
	// QKVBias that the three attention projections have biases, QKNorm that queries
	// and keys are normalised by head.
	TiedEmbeddings, QKVBias, QKNorm bool
	// BytesPerParameter is 2 for bf16 and fp16, 1 for fp8, 0.5 for 4 bits;
	// BytesPerKVElement is the same for one number in the KV cache.
	BytesPerParameter, BytesPerKVElement float64
}

// known says whether the shape is given at all.
func (s Shape) known() bool { return s != Shape{} }

// validate refuses what is no transformer. The limits keep every count that
// follows from a shape within int64.
func (s Shape) validate() error {
	err := checkLimits("model shape",
		limit{"Layers", float64(s.Layers), 1, 1 << 10},
		limit{"Hidden", float64(s.Hidden), 1, 1 << 17},
		limit{"Heads", float64(s.Heads), 1, 1 << 10},
		limit{"KVHeads", float64(s.KVHeads), 1, float64(s.Heads)},
		limit{"HeadSize", float64(s.HeadSize), 1, 1 << 12},
		limit{"Intermediate", float64(s.Intermediate), 1, 1 << 20},
		limit{"Vocabulary", float64(s.Vocabulary), 1, 1 << 24},
		limit{"Experts", float64(s.Experts), 0, 1 << 12},
		limit{"ActiveExperts", float64(s.ActiveExperts), float64(min(s.Experts, 1)), float64(s.Experts)},
		limit{"BytesPerParameter", s.BytesPerParameter, minElementBytes, maxElementBytes},
		limit{"BytesPerKVElement", s.BytesPerKVElement, minElementBytes, maxElementBytes},
	)
	if err == nil && s.Heads%s.KVHeads != 0 {
		return fmt.Errorf("model shape: KVHeads is %d, must divide Heads (%d)", s.KVHeads, s.Heads)
	}
	return err
}

// From one bit to a float64.
const (
	minElementBytes = 0.125
	maxElementBytes = 8
)

// Parameters counts every weight of the model.
func (s Shape) Parameters() int64 {
	hidden, queries, kv := int64(s.Hidden), int64(s.Heads)*int64(s.HeadSize), int64(s.KVHeads)*int64(s.HeadSize)

	layer := 2*hidden*queries + 2*hidden*kv // query and output, key and value
	layer += 2 * hidden                     // the norms before attention and feed-forward
	if s.QKVBias {
		layer += queries + 2*kv
	}
	if s.QKNorm {
		layer += 2 * int64(s.HeadSize)
	}
	if s.Experts == 0 {
		layer += s.feedForward()
	} else {
		layer += int64(s.Experts)*s.feedForward() + hidden*int64(s.Experts) // experts, router
	}

	embeddings := int64(2)
	if s.TiedEmbeddings {
		embeddings = 1
	}
	return int64(s.Layers)*layer + embeddings*int64(s.Vocabulary)*hidden + hidden
}

// feedForward is one feed-forward network, or one expert: gate, up and down.
func (s Shape) feedForward() int64 { return 3 * int64(s.Hidden) * int64(s.Intermediate) }

// ExpertParameters counts the weights of all experts; 0 in a dense model.
func (s Shape) ExpertParameters() int64 {
	return int64(s.Layers) * int64(s.Experts) * s.feedForward()
}

// ActiveParameters counts the weights one token is multiplied with, embeddings
// included: all, less the experts it does not visit.
func (s Shape) ActiveParameters() int64 { return s.Parameters() - s.idleParameters() }

func (s Shape) idleParameters() int64 {
	return int64(s.Layers) * int64(s.Experts-s.ActiveExperts) * s.feedForward()
}

// KVBytesPerToken is what one token occupies in the cache, over all layers: a
// key and a value by KV head.
func (s Shape) KVBytesPerToken() int64 {
	elements := 2 * int64(s.Layers) * int64(s.KVHeads) * int64(s.HeadSize)
	return ceilBytes(float64(elements) * s.BytesPerKVElement)
}

// AttentionFLOPsPerPair is the work of one query token on one token of context,
// over all layers: two FLOPs a multiplication, once for the score and once for
// the weighted sum. A causal chunk of n tokens after c has n·c + n·(n+1)/2 such
// pairs.
func (s Shape) AttentionFLOPsPerPair() int64 {
	return 4 * int64(s.Layers) * int64(s.Heads) * int64(s.HeadSize)
}

// GEMMs is how many matrix multiplications one forward pass launches: in each
// layer one for queries, keys and values, one for the output, one for gate and
// up, one for down and, with experts, one for the router; and the one for the
// logits.
func (s Shape) GEMMs() int {
	layer := 4
	if s.Experts > 0 {
		layer = 5
	}
	return s.Layers*layer + 1
}
