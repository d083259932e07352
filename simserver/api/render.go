package api

import (
	"bytes"
	"encoding/json"
	"strconv"

	"llmsim-bench/internal/wire"
)

// The JSON of an answer, whatever its API: each has choices of its own form. Tokens
// are rendered by eventRenderer instead, to the same bytes.
type (
	chunk struct {
		ID      string       `json:"id"`
		Object  string       `json:"object"`
		Created int64        `json:"created"`
		Model   string       `json:"model"`
		Choices []any        `json:"choices"`
		Usage   any          `json:"usage,omitempty"`         // *usage
		Timing  *wire.Timing `json:"llmsim_timing,omitempty"` // wire.TimingKey
	}
	completion struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		Created int64  `json:"created"`
		Model   string `json:"model"`
		Choices []any  `json:"choices"`
		Usage   usage  `json:"usage"`
	}
	usage struct {
		PromptTokens     int `json:"prompt_tokens"`
		CompletionTokens int `json:"completion_tokens"`
		TotalTokens      int `json:"total_tokens"`
		// The details are absent where they would be 0: nothing came from a prefix
		// cache, nothing was thought.
		PromptTokensDetails     *promptTokensDetails     `json:"prompt_tokens_details,omitempty"`
		CompletionTokensDetails *completionTokensDetails `json:"completion_tokens_details,omitempty"`
	}
	promptTokensDetails struct {
		CachedTokens int `json:"cached_tokens"`
	}
	completionTokensDetails struct {
		ReasoningTokens int `json:"reasoning_tokens"`
	}
)

// marshal is encoding/json without HTML escaping: answers are not HTML, and
// OpenAI does not escape them either.
func marshal(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		// Only plain structs of this package come here.
		panic("api: encode answer: " + err.Error())
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// appendEvent appends one server-sent event.
func appendEvent(dst, data []byte) []byte {
	dst = append(dst, "data: "...)
	dst = append(dst, data...)
	return append(dst, "\n\n"...)
}

// framing is how a body of unknown length ends: by HTTP chunks, or with the
// connection for a client of HTTP/1.0.
type framing bool

const (
	untilClose framing = false
	chunked    framing = true
)

// chunkHead is the room kept for a chunk's size: eight hexadecimal digits, as
// many as a length here can have, and CRLF.
const chunkHead = 8 + 2

// begin makes room for a frame's head and returns where.
func (f framing) begin(dst *[]byte) int {
	start := len(*dst)
	if f == chunked {
		*dst = append(*dst, "00000000\r\n"...)
	}
	return start
}

// end completes the frame that begin opened at start.
func (f framing) end(dst []byte, start int) []byte {
	if f != chunked {
		return dst
	}
	body := start + chunkHead
	size := len(dst) - body
	var digits [8]byte
	hex := strconv.AppendUint(digits[:0], uint64(size), 16)
	// Some clients dislike leading zeros: close the gap instead.
	copy(dst[start:], hex)
	copy(dst[start+len(hex):], "\r\n")
	head := start + len(hex) + 2
	copy(dst[head:], dst[body:])
	dst = dst[:head+size]
	return append(dst, "\r\n"...)
}

// appendFramed appends data as one frame.
func (f framing) appendFramed(dst, data []byte) []byte {
	start := f.begin(&dst)
	dst = append(dst, data...)
	return f.end(dst, start)
}
