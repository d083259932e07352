package openai

import "llmsim-bench/internal/wire"

// Chunk is what one event of a stream says, or a whole answer that was not
// streamed.
type Chunk struct {
	// Done says that this is the dialect's terminal event.
	Done bool
	// Failed says that the server reports an error; Message is its text.
	Failed  bool
	Message string
	// Deltas holds what the event says of each choice it speaks of.
	Deltas []Delta
	// Usage is the server's own count, where UsageKnown.
	Usage      Usage
	UsageKnown bool
	// Timing is the simulator's account of the request, nil from other servers.
	Timing *wire.Timing
}

// Delta is what an event says of one choice.
type Delta struct {
	// Choice is the choice's index.
	Choice int
	// Output and Reasoning say which kinds of token the event carries: of the
	// answer (text, refusal or tool-call data), of the reasoning before it.
	Output, Reasoning bool
	// Tokens is how many tokens the event lists by id or logprob; 0: none listed.
	Tokens int
	// FinishReason is empty until the choice ends.
	FinishReason string
}

// TokenBearing reports whether the event carries any token of the choice.
func (d *Delta) TokenBearing() bool { return d.Output || d.Reasoning }

// Usage is the server's count of tokens; in a stream it may grow.
type Usage struct {
	PromptTokens int
	// CachedTokens is the part of PromptTokens found in the server's prefix cache.
	CachedTokens int
	// CompletionTokens counts every choice's tokens, reasoning included.
	CompletionTokens int
}
