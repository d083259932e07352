package openai

import (
	"strconv"

	"github.com/valyala/fastjson"
)

// appendCompletions appends the JSON of a call of /completions to dst.
func appendCompletions(dst []byte, r *Request) []byte {
	dst = appendModel(dst, r)
	dst = append(dst, `,"prompt":`...)
	dst = appendString(dst, r.Prompt)
	dst = append(dst, `,"max_tokens":`...)
	dst = strconv.AppendInt(dst, int64(r.MaxTokens), 10)
	dst = appendStream(dst, r)
	dst = appendExactness(dst, r)
	return append(dst, '}')
}

// completions reads an event of a /completions stream, or its whole answer. The
// stream's terminal event is [DONE].
func (d *Decoder) completions(v *fastjson.Value) Chunk {
	for _, choice := range v.GetArray("choices") {
		text := choice.GetStringBytes("text")
		delta := Delta{
			Choice: choice.GetInt("index"),
			Output: len(text) > 0, Text: text,
			Tokens:       len(choice.GetArray("token_ids")),
			FinishReason: string(choice.GetStringBytes("finish_reason")),
		}
		if delta.Tokens == 0 {
			delta.Tokens = len(choice.GetArray("logprobs", "tokens"))
		}
		d.deltas = append(d.deltas, delta)
	}
	var c Chunk
	c.Usage, c.UsageKnown = decodeUsage(v.Get("usage"), "prompt_tokens", "prompt_tokens_details", "completion_tokens")
	return c
}
