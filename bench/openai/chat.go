package openai

import (
	"bytes"
	"fmt"

	"github.com/valyala/fastjson"

	"llmsim-bench/bench/sse"
	"llmsim-bench/internal/wire"
)

// ChatDecoder reads the events of a /chat/completions stream, and the body of an
// answer that was not streamed. The zero value is ready to use; once warm it
// allocates nothing for a token's event.
type ChatDecoder struct {
	parser fastjson.Parser
	deltas []Delta
}

// Decode says what one event means. The Chunk's Deltas are valid until the next
// call. An event with no data, or JSON that says nothing of a choice, is a Chunk
// that says nothing. Data that is neither a JSON object nor [DONE] is an error.
func (d *ChatDecoder) Decode(ev sse.Event) (Chunk, error) {
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
	d.deltas = d.deltas[:0]
	for _, choice := range v.GetArray("choices") {
		d.deltas = append(d.deltas, decodeChoice(choice))
	}
	c := Chunk{Deltas: d.deltas, Timing: decodeTiming(v.Get(wire.TimingKey))}
	c.Usage, c.UsageKnown = decodeUsage(v.Get("usage"))
	return c, nil
}

func decodeChoice(v *fastjson.Value) Delta {
	d := Delta{
		Choice:       v.GetInt("index"),
		FinishReason: string(v.GetStringBytes("finish_reason")),
		Tokens:       len(v.GetArray("token_ids")),
	}
	if d.Tokens == 0 {
		d.Tokens = len(v.GetArray("logprobs", "content")) + len(v.GetArray("logprobs", "refusal"))
	}
	said := v.Get("delta")
	if said == nil {
		said = v.Get("message") // an answer that was not streamed
	}
	d.Output = filled(said.Get("content")) || filled(said.Get("refusal")) ||
		filledCall(said.Get("function_call"))
	for _, call := range said.GetArray("tool_calls") {
		d.Output = d.Output || filledCall(call.Get("function")) || filledCall(call.Get("custom"))
	}
	d.Reasoning = filled(said.Get("reasoning_content")) || filled(said.Get("reasoning"))
	return d
}

// filled reports whether v is a text, or a list of parts, that is not empty.
func filled(v *fastjson.Value) bool {
	return len(v.GetStringBytes()) > 0 || len(v.GetArray()) > 0
}

// filledCall reports whether a tool call's function (name, arguments) or custom
// tool (name, input) says anything.
func filledCall(v *fastjson.Value) bool {
	return filled(v.Get("name")) || filled(v.Get("arguments")) || filled(v.Get("input"))
}

func decodeUsage(v *fastjson.Value) (Usage, bool) {
	completion := v.Get("completion_tokens")
	if completion == nil {
		return Usage{}, false
	}
	n, err := completion.Int()
	if err != nil || n < 0 {
		return Usage{}, false
	}
	return Usage{
		PromptTokens:     v.GetInt("prompt_tokens"),
		CachedTokens:     v.GetInt("prompt_tokens_details", "cached_tokens"),
		CompletionTokens: n,
	}, true
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
