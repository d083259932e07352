package openai

import (
	"strconv"

	"github.com/valyala/fastjson"
)

// appendChat appends the JSON of a call of /chat/completions to dst.
func appendChat(dst []byte, r *Request) []byte {
	dst = appendModel(dst, r)
	dst = appendUserMessage(dst, r)
	dst = append(dst, `,"max_tokens":`...)
	dst = strconv.AppendInt(dst, int64(r.MaxTokens), 10)
	dst = appendStream(dst, r)
	dst = appendExactness(dst, r)
	return append(dst, '}')
}

// chat reads an event of a /chat/completions stream, or its whole answer. The
// stream's terminal event is [DONE].
func (d *Decoder) chat(v *fastjson.Value) Chunk {
	for _, choice := range v.GetArray("choices") {
		d.deltas = append(d.deltas, d.chatChoice(choice))
	}
	var c Chunk
	c.Usage, c.UsageKnown = decodeUsage(v.Get("usage"), "prompt_tokens", "prompt_tokens_details", "completion_tokens")
	return c
}

func (d *Decoder) chatChoice(v *fastjson.Value) Delta {
	delta := Delta{
		Choice:       v.GetInt("index"),
		FinishReason: string(v.GetStringBytes("finish_reason")),
		Tokens:       len(v.GetArray("token_ids")),
	}
	if delta.Tokens == 0 {
		delta.Tokens = len(v.GetArray("logprobs", "content")) + len(v.GetArray("logprobs", "refusal"))
	}
	said := v.Get("delta")
	if said == nil {
		said = v.Get("message") // an answer that was not streamed
	}
	content := said.Get("content")
	delta.Text = d.textOf(content)
	delta.Output = filled(content) || filled(said.Get("refusal")) || filledCall(said.Get("function_call"))
	for _, call := range said.GetArray("tool_calls") {
		delta.Output = delta.Output || filledCall(call.Get("function")) || filledCall(call.Get("custom"))
	}
	delta.Reasoning = filled(said.Get("reasoning_content")) || filled(said.Get("reasoning"))
	return delta
}

// filledCall reports whether a tool call's function (name, arguments) or custom
// tool (name, input) says anything.
func filledCall(v *fastjson.Value) bool {
	return filled(v.Get("name")) || filled(v.Get("arguments")) || filled(v.Get("input"))
}
