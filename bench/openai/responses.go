package openai

import (
	"bytes"
	"strconv"

	"github.com/valyala/fastjson"
)

// appendResponses appends the JSON of a call of /responses to dst.
func appendResponses(dst []byte, r *Request) []byte {
	dst = appendModel(dst, r)
	dst = append(dst, `,"input":`...)
	dst = appendString(dst, r.Prompt)
	dst = append(dst, `,"max_output_tokens":`...)
	dst = strconv.AppendInt(dst, int64(r.MaxTokens), 10)
	dst = appendStream(dst, r)
	dst = appendExactness(dst, r)
	return append(dst, '}')
}

// responses reads an event of a /responses stream, or its whole answer. The
// stream's terminal event is response.completed, or response.incomplete if the
// answer met its bound; it holds the usage, and the whole answer once more.
func (d *Decoder) responses(v *fastjson.Value) Chunk {
	kind := v.GetStringBytes("type")
	switch string(kind) {
	case "response.completed", "response.incomplete":
		c := d.wholeResponse(v.Get("response"))
		c.Done, c.Repeats = true, true
		return c
	case "response.failed", "response.cancelled":
		return endedResponse(v.Get("response"))
	case "response.output_item.added":
		// The name of the tool that is called comes with its item alone.
		if filled(v.Get("item", "name")) {
			d.deltas = append(d.deltas, Delta{Output: true})
		}
		return Chunk{}
	case "":
		return d.wholeResponse(v)
	}
	d.responseDelta(kind, v)
	return Chunk{}
}

// responseDelta reads an event response.….delta: each adds to some part of the
// answer. The events of other names repeat what such events said.
func (d *Decoder) responseDelta(kind []byte, v *fastjson.Value) {
	part, isResponse := bytes.CutPrefix(kind, []byte("response."))
	part, isDelta := bytes.CutSuffix(part, []byte(".delta"))
	said := v.Get("delta")
	if !isResponse || !isDelta || !filled(said) {
		return
	}
	delta := Delta{Tokens: len(v.GetArray("logprobs"))}
	switch {
	case bytes.HasPrefix(part, []byte("reasoning")): // reasoning_text, reasoning_summary_text
		delta.Reasoning = true
	case string(part) == "output_text":
		delta.Output, delta.Text = true, said.GetStringBytes()
	default: // refusal, function_call_arguments, and so on
		delta.Output = true
	}
	d.deltas = append(d.deltas, delta)
}

// wholeResponse reads a response object.
func (d *Decoder) wholeResponse(v *fastjson.Value) Chunk {
	switch string(v.GetStringBytes("status")) {
	case "failed", "cancelled":
		return endedResponse(v)
	}
	var delta Delta
	for _, item := range v.GetArray("output") {
		switch string(item.GetStringBytes("type")) {
		case "reasoning":
			delta.Reasoning = delta.Reasoning || filled(item.Get("content")) || filled(item.Get("summary"))
		case "message":
			content := item.Get("content")
			d.text = appendText(d.text, content)
			delta.Output = delta.Output || filled(content)
		default:
			delta.Output = delta.Output || filledCall(item)
		}
	}
	if delta.Text = d.text; delta.TokenBearing() {
		d.deltas = append(d.deltas, delta)
	}
	var c Chunk
	c.Usage, c.UsageKnown = decodeUsage(v.Get("usage"), "input_tokens", "input_tokens_details", "output_tokens")
	return c
}

// endedResponse reads a response object that failed or was cancelled.
func endedResponse(v *fastjson.Value) Chunk {
	msg, _ := errorIn(v)
	if msg == "" {
		msg = "the response did not complete; the server gives no reason"
	}
	return Chunk{Failed: true, Message: msg}
}
