package openai

import "encoding/json"

// Extensions are the parts of a request that not every OpenAI-compatible server
// takes. Each is sent only where it is switched on.
type Extensions struct {
	// StreamUsage asks for a usage event at the end of a stream
	// (stream_options.include_usage).
	StreamUsage bool
	// IgnoreEOS asks for exactly MaxTokens tokens (ignore_eos).
	IgnoreEOS bool
	// MinTokens is the least number of tokens to answer with (min_tokens); 0 is
	// not sent.
	MinTokens int
}

// ExactTokens returns the length that a request for maxTokens asks for exactly,
// 0 if it asks only for a bound.
func (e Extensions) ExactTokens(maxTokens int) int {
	if e.IgnoreEOS || e.MinTokens >= maxTokens {
		return maxTokens
	}
	return 0
}

// Request is one call of an endpoint with a single prompt.
type Request struct {
	Model string
	// Prompt is the user message's text.
	Prompt string
	// MaxTokens bounds the answer (max_tokens).
	MaxTokens  int
	Stream     bool
	Extensions Extensions
}

// appendString appends s as a JSON string.
func appendString(dst []byte, s string) []byte {
	b, err := json.Marshal(s)
	if err != nil {
		panic("openai: encoding/json encodes every string: " + err.Error())
	}
	return append(dst, b...)
}
