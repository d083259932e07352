package openai

import (
	"encoding/json"
	"strconv"
)

// Extensions are the parts of a request that not every server takes. Each is
// sent only where it is switched on, and only in an API that has it: see
// API.Takes.
type Extensions struct {
	// StreamUsage asks for a usage event at the end of a stream
	// (stream_options.include_usage). Responses and messages have usage anyway.
	StreamUsage bool
	// IgnoreEOS asks for exactly MaxTokens tokens (ignore_eos).
	IgnoreEOS bool
	// MinTokens is the least number of tokens to answer with (min_tokens); 0 is
	// not sent.
	MinTokens int
}

// ExactTokens returns the length that a request for maxTokens asks for exactly,
// 0 if it asks only for a bound. Of an API, ask a.Takes(e).ExactTokens(maxTokens).
func (e Extensions) ExactTokens(maxTokens int) int {
	if e.IgnoreEOS || e.MinTokens >= maxTokens {
		return maxTokens
	}
	return 0
}

// Request is one call of an endpoint with a single prompt.
type Request struct {
	Model string
	// Prompt is the user message's text, or the text to complete or embed.
	Prompt string
	// MaxTokens bounds the answer; an embedding has no such bound.
	MaxTokens int
	// Stream asks for a stream; an API that has none ignores it.
	Stream     bool
	Extensions Extensions
}

// appendModel appends the start of every request.
func appendModel(dst []byte, r *Request) []byte {
	dst = append(dst, `{"model":`...)
	return appendString(dst, r.Model)
}

// appendUserMessage appends the prompt as the only message.
func appendUserMessage(dst []byte, r *Request) []byte {
	dst = append(dst, `,"messages":[{"role":"user","content":`...)
	dst = appendString(dst, r.Prompt)
	return append(dst, `}]`...)
}

// appendStream appends whether to stream, and with what.
func appendStream(dst []byte, r *Request) []byte {
	dst = append(dst, `,"stream":`...)
	dst = strconv.AppendBool(dst, r.Stream)
	// Servers refuse stream_options without a stream.
	if r.Extensions.StreamUsage && r.Stream {
		dst = append(dst, `,"stream_options":{"include_usage":true}`...)
	}
	return dst
}

// appendExactness appends what asks for more than a bound of the length.
func appendExactness(dst []byte, r *Request) []byte {
	if r.Extensions.IgnoreEOS {
		dst = append(dst, `,"ignore_eos":true`...)
	}
	if r.Extensions.MinTokens > 0 {
		dst = append(dst, `,"min_tokens":`...)
		dst = strconv.AppendInt(dst, int64(r.Extensions.MinTokens), 10)
	}
	return dst
}

// appendString appends s as a JSON string.
func appendString(dst []byte, s string) []byte {
	b, err := json.Marshal(s)
	if err != nil {
		panic("openai: encoding/json encodes every string: " + err.Error())
	}
	return append(dst, b...)
}
