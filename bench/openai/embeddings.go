package openai

import "github.com/valyala/fastjson"

// appendEmbeddings appends the JSON of a call of /embeddings to dst. There is no
// length to ask for, and no stream.
func appendEmbeddings(dst []byte, r *Request) []byte {
	dst = appendModel(dst, r)
	dst = append(dst, `,"input":`...)
	dst = appendString(dst, r.Prompt)
	return append(dst, '}')
}

// embeddings reads the answer of /embeddings, which is never streamed: it is a
// success if it holds an embedding, as numbers or in base64. Its usage counts
// the prompt alone.
func (d *Decoder) embeddings(v *fastjson.Value) Chunk {
	var c Chunk
	for _, item := range v.GetArray("data") {
		c.Embedded = c.Embedded || filled(item.Get("embedding"))
	}
	c.Usage, _ = decodeUsage(v.Get("usage"), "prompt_tokens", "prompt_tokens_details", "")
	return c
}
