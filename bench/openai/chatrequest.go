package openai

import "strconv"

// appendChat appends the JSON of a call of /chat/completions to dst.
func appendChat(dst []byte, r *Request) []byte {
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
