package openai

import (
	"bytes"
	"fmt"

	"github.com/valyala/fastjson"

	"llmsim-bench/bench/sse"
	"llmsim-bench/internal/wire"
)

// Decoder reads the events of a stream in the dialect of its API, and the body
// of an answer that was not streamed. The zero value is ready to use, for Chat;
// once warm it allocates nothing for a token's event.
type Decoder struct {
	API    API
	parser fastjson.Parser
	deltas []Delta
	text   []byte // where texts in parts are joined
}

// Decode says what one event means. The Chunk's Deltas are valid until the next
// call. An event with no data, or JSON that says nothing of the answer, is a
// Chunk that says nothing. Data that is neither a JSON object nor [DONE], which
// ends an answer in every dialect, is an error.
func (d *Decoder) Decode(ev sse.Event) (Chunk, error) {
	data := bytes.TrimSpace(ev.Data)
	if string(ev.Name) == "error" {
		return Chunk{Failed: true, Message: ErrorMessage(data)}, nil
	}
	switch string(data) {
	case "":
		return Chunk{}, nil
	case "[DONE]":
		return Chunk{Done: true}, nil
	}
	v, err := d.parser.ParseBytes(data)
	if err != nil {
		return Chunk{}, fmt.Errorf("event data is not JSON: %q", shorten(string(data)))
	}
	if v.Type() != fastjson.TypeObject {
		return Chunk{}, fmt.Errorf("event data is no JSON object: %q", shorten(string(data)))
	}
	if msg, failed := errorIn(v); failed {
		return Chunk{Failed: true, Message: msg}, nil
	}
	d.deltas, d.text = d.deltas[:0], d.text[:0]
	c := dialects[d.API].decode(d, v)
	c.Deltas = d.deltas
	c.Timing = decodeTiming(v.Get(wire.TimingKey))
	return c, nil
}

// filled reports whether v is a text, or a list of parts, that is not empty.
func filled(v *fastjson.Value) bool {
	return len(v.GetStringBytes()) > 0 || len(v.GetArray()) > 0
}

// textOf returns v's text: v itself, or the parts of a list put together.
func (d *Decoder) textOf(v *fastjson.Value) []byte {
	if v.GetArray() == nil {
		return v.GetStringBytes()
	}
	start := len(d.text)
	d.text = appendText(d.text, v)
	return d.text[start:]
}

// appendText appends v's text, as textOf says, to dst.
func appendText(dst []byte, v *fastjson.Value) []byte {
	for _, part := range v.GetArray() {
		dst = append(dst, part.GetStringBytes("text")...)
	}
	return append(dst, v.GetStringBytes()...)
}

// decodeUsage reads a usage object of OpenAI's, of which prompt and completion
// are the names of the two counts. counted says that it counts the completion.
func decodeUsage(v *fastjson.Value, prompt, promptDetails, completion string) (u Usage, counted bool) {
	u.CompletionTokens, counted = count(v, completion)
	u.PromptTokens, _ = count(v, prompt)
	if details := v.Get(promptDetails); details != nil {
		u.CachedTokens, _ = count(details, "cached_tokens")
	}
	return u, counted
}

// count returns a number of tokens, if there is one.
func count(v *fastjson.Value, key string) (n int, known bool) {
	field := v.Get(key)
	if field == nil {
		return 0, false
	}
	n, err := field.Int()
	if err != nil || n < 0 {
		return 0, false
	}
	return n, true
}

func decodeTiming(v *fastjson.Value) *wire.Timing {
	if v.GetObject() == nil {
		return nil
	}
	instants := func(column string) wire.Instants {
		return wire.Instants{FirstNS: v.GetInt64(column, "first_ns"), LastNS: v.GetInt64(column, "last_ns")}
	}
	return &wire.Timing{Simulated: instants("simulated"), Server: instants("server")}
}
