package api

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"

	"llmsim-bench/internal/wire"
)

// The JSON of an answer, in OpenAI's form. Tokens are rendered by eventRenderer
// instead, to the same bytes.
type (
	chatChunk struct {
		ID      string        `json:"id"`
		Object  string        `json:"object"`
		Created int64         `json:"created"`
		Model   string        `json:"model"`
		Choices []chunkChoice `json:"choices"`
		Usage   *usage        `json:"usage,omitempty"`
		Timing  *wire.Timing  `json:"llmsim_timing,omitempty"` // wire.TimingKey
	}
	chunkChoice struct {
		Index        int     `json:"index"`
		Delta        delta   `json:"delta"`
		FinishReason *string `json:"finish_reason"`
	}
	delta struct {
		Role    string  `json:"role,omitempty"`
		Content *string `json:"content,omitempty"`
	}
	chatCompletion struct {
		ID      string         `json:"id"`
		Object  string         `json:"object"`
		Created int64          `json:"created"`
		Model   string         `json:"model"`
		Choices []answerChoice `json:"choices"`
		Usage   usage          `json:"usage"`
	}
	answerChoice struct {
		Index        int     `json:"index"`
		Message      message `json:"message"`
		FinishReason string  `json:"finish_reason"`
	}
	message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	usage struct {
		PromptTokens     int `json:"prompt_tokens"`
		CompletionTokens int `json:"completion_tokens"`
		TotalTokens      int `json:"total_tokens"`
		// PromptTokensDetails is absent where nothing came from a prefix cache.
		PromptTokensDetails *promptTokensDetails `json:"prompt_tokens_details,omitempty"`
	}
	promptTokensDetails struct {
		CachedTokens int `json:"cached_tokens"`
	}
)

// chunkObject is the object name of a streamed event.
const chunkObject = "chat.completion.chunk"

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

// eventRenderer renders the token events of one choice. It copies the constant
// parts of the event from a template, so that a token costs its own text only.
type eventRenderer struct {
	head, tail []byte // of the event, around the quoted text
}

const textMark = "\x00"

func newEventRenderer(base chatChunk, choice int) eventRenderer {
	mark := textMark
	base.Choices = []chunkChoice{{Index: choice, Delta: delta{Content: &mark}}}
	event := appendEvent(nil, marshal(base))
	quoted := marshal(mark)
	at := bytes.LastIndex(event, quoted)
	return eventRenderer{head: event[:at:at], tail: event[at+len(quoted):]}
}

// appendToken appends the event for one token, framed.
func (r *eventRenderer) appendToken(dst []byte, f framing, text string) []byte {
	start := f.begin(&dst)
	dst = append(dst, r.head...)
	dst = appendQuoted(dst, text)
	dst = append(dst, r.tail...)
	return f.end(dst, start)
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

// appendQuoted appends s as encoding/json quotes it without HTML escaping.
func appendQuoted(dst []byte, s string) []byte {
	if !plainJSON(s) {
		return append(dst, marshal(s)...)
	}
	dst = append(dst, '"')
	dst = append(dst, s...)
	return append(dst, '"')
}

// plainJSON reports whether s stands in JSON as it is.
func plainJSON(s string) bool {
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c < ' ' || c == '"' || c == '\\' {
				return false
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		// encoding/json replaces invalid bytes and escapes the two separators
		// that JavaScript takes for line ends.
		if r == utf8.RuneError && size == 1 || r == '\u2028' || r == '\u2029' {
			return false
		}
		i += size
	}
	return true
}
