package openai

import (
	"encoding/json"
	"strconv"
)

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

// ChatRequest is one call of /chat/completions with a single user message.
type ChatRequest struct {
	Model string
	// Prompt is the user message's text.
	Prompt string
	// MaxTokens bounds the answer (max_tokens).
	MaxTokens  int
	Stream     bool
	Extensions Extensions
}

// AppendBody appends the request's JSON to dst.
func (r *ChatRequest) AppendBody(dst []byte) []byte {
	dst = append(dst, `{"model":`...)
	dst = appendString(dst, r.Model)
	dst = append(dst, `,"messages":[{"role":"user","content":`...)
	dst = appendString(dst, r.Prompt)
	dst = append(dst, `}],"max_tokens":`...)
	dst = strconv.AppendInt(dst, int64(r.MaxTokens), 10)
	dst = append(dst, `,"stream":`...)
	dst = strconv.AppendBool(dst, r.Stream)
	// Servers refuse stream_options without a stream.
	if r.Extensions.StreamUsage && r.Stream {
		dst = append(dst, `,"stream_options":{"include_usage":true}`...)
	}
	if r.Extensions.IgnoreEOS {
		dst = append(dst, `,"ignore_eos":true`...)
	}
	if r.Extensions.MinTokens > 0 {
		dst = append(dst, `,"min_tokens":`...)
		dst = strconv.AppendInt(dst, int64(r.Extensions.MinTokens), 10)
	}
	return append(dst, '}')
}

// appendString appends s as a JSON string.
func appendString(dst []byte, s string) []byte {
	b, err := json.Marshal(s)
	if err != nil {
		panic("openai: encoding/json encodes every string: " + err.Error())
	}
	return append(dst, b...)
}
