package openai

import (
	"strconv"

	"github.com/valyala/fastjson"
)

// anthropicVersion is the version of the API that requests are written for.
const anthropicVersion = "2023-06-01"

// appendMessages appends the JSON of a call of /messages to dst.
func appendMessages(dst []byte, r *Request) []byte {
	dst = appendModel(dst, r)
	dst = appendUserMessage(dst, r)
	dst = append(dst, `,"max_tokens":`...)
	dst = strconv.AppendInt(dst, int64(r.MaxTokens), 10)
	dst = appendStream(dst, r)
	return append(dst, '}')
}

// messages reads an event of a /messages stream, or its whole answer. The
// stream's terminal event is message_stop; the stop reason and the count of
// tokens come before it, in a message_delta. message_start counts the prompt; its
// count of the output is no such thing: it says 1 before there is a token.
func (d *Decoder) messages(v *fastjson.Value) Chunk {
	var c Chunk
	switch string(v.GetStringBytes("type")) {
	case "message_start":
		c.Usage, _ = messageUsage(v.Get("message", "usage"))
		c.Usage.CompletionTokens = 0
	case "content_block_start":
		d.addBlock(v.Get("content_block"))
	case "content_block_delta":
		d.addBlock(v.Get("delta"))
	case "message_delta":
		if reason := v.GetStringBytes("delta", "stop_reason"); len(reason) > 0 {
			d.deltas = append(d.deltas, Delta{FinishReason: string(reason)})
		}
		c.Usage, c.UsageKnown = messageUsage(v.Get("usage"))
	case "message_stop":
		c.Done = true
	case "message":
		d.wholeMessage(v)
		c.Usage, c.UsageKnown = messageUsage(v.Get("usage"))
	}
	return c
}

// addBlock adds what a content block begins with, or what is added to it.
func (d *Decoder) addBlock(v *fastjson.Value) {
	if delta := decodeBlock(v); delta.TokenBearing() {
		d.deltas = append(d.deltas, delta)
	}
}

// decodeBlock reads a content block or an addition to one. Signatures and
// citations are no tokens.
func decodeBlock(v *fastjson.Value) Delta {
	text := v.GetStringBytes("text")
	return Delta{
		// A tool_use block begins with the tool's name; partial_json adds to it.
		Output: len(text) > 0 || filled(v.Get("name")) || filled(v.Get("partial_json")),
		// A redacted_thinking block has data.
		Reasoning: filled(v.Get("thinking")) || filled(v.Get("data")),
		Text:      text,
	}
}

// wholeMessage reads a message object.
func (d *Decoder) wholeMessage(v *fastjson.Value) {
	all := Delta{FinishReason: string(v.GetStringBytes("stop_reason"))}
	for _, block := range v.GetArray("content") {
		delta := decodeBlock(block)
		all.Output = all.Output || delta.Output
		all.Reasoning = all.Reasoning || delta.Reasoning
		d.text = append(d.text, delta.Text...)
	}
	all.Text = d.text
	d.deltas = append(d.deltas, all)
}

// messageUsage reads a usage object, whose input_tokens leave out what the
// cache held or took in.
func messageUsage(v *fastjson.Value) (u Usage, counted bool) {
	u.CompletionTokens, counted = count(v, "output_tokens")
	u.CachedTokens, _ = count(v, "cache_read_input_tokens")
	fresh, _ := count(v, "input_tokens")
	taken, _ := count(v, "cache_creation_input_tokens")
	u.PromptTokens = fresh + taken + u.CachedTokens
	return u, counted
}
