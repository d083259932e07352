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
	// Repeats says that Deltas holds the whole answer once more: it counts only
	// where no event before said anything.
	Repeats bool
	// Embedded says that the answer is an embedding, which has no tokens.
	Embedded bool
	// Usage is the server's own count. Where UsageKnown is false, it counts no
	// completion, but may count the prompt.
	Usage      Usage
	UsageKnown bool
	// Timing is the simulator's account of the request, nil from other servers.
	Timing *wire.Timing
}

// Delta is what an event says of one choice. Responses and messages have one
// choice, 0, whatever the number of their items and blocks.
type Delta struct {
	// Choice is the choice's index.
	Choice int
	// Output and Reasoning say which kinds of token the event carries: of the
	// answer (text, refusal or tool-call data), of the reasoning before it.
	Output, Reasoning bool
	// Text is the answer's text, without refusals and tool calls. It is valid
	// until the decoder's next call.
	Text []byte
	// Tokens is how many tokens the event lists by id or logprob; 0: none listed.
	Tokens int
	// FinishReason is empty until the choice ends.
	FinishReason string
}

// TokenBearing reports whether the event carries any token of the choice.
func (d *Delta) TokenBearing() bool { return d.Output || d.Reasoning }

// Usage is the server's count of tokens; in a stream it may grow.
type Usage struct {
	// PromptTokens is 0 where it is not said.
	PromptTokens int
	// CachedTokens is the part of PromptTokens found in the server's prefix cache.
	CachedTokens int
	// CompletionTokens counts every choice's tokens, reasoning included.
	CompletionTokens int
}
