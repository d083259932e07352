package openai

import "testing"

func TestDecodeCompletions(t *testing.T) {
	testDecode(t, Completions, []decodeCase{
		{`{"choices":[{"index":0,"text":" a","finish_reason":null}]}`, Chunk{Deltas: says(" a")}},
		{`{"choices":[{"index":0,"text":"","finish_reason":"length"}]}`, Chunk{Deltas: []Delta{{FinishReason: "length"}}}},
		{`{"choices":[{"text":null}]}`, Chunk{Deltas: []Delta{{}}}},
		{`{"choices":null}`, Chunk{}},
		{
			`{"choices":[{"index":1,"text":"x","logprobs":{"tokens":["a","b"]}},{"index":0,"text":"y","token_ids":[1,2,3],"logprobs":{"tokens":["a"]}}]}`,
			Chunk{Deltas: []Delta{{Choice: 1, Output: true, Text: []byte("x"), Tokens: 2}, {Output: true, Text: []byte("y"), Tokens: 3}}},
		},
		{
			`{"choices":[],"usage":{"prompt_tokens":8,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":4}}}`,
			Chunk{UsageKnown: true, Usage: Usage{PromptTokens: 8, CachedTokens: 4, CompletionTokens: 3}},
		},
		{
			`{"object":"text_completion","choices":[{"index":0,"text":"hi","finish_reason":"stop"}],"usage":{"completion_tokens":2}}`,
			Chunk{Deltas: []Delta{{Output: true, Text: []byte("hi"), FinishReason: "stop"}}, UsageKnown: true, Usage: Usage{CompletionTokens: 2}},
		},
		{`{"choices":[3,null,"x"]}`, Chunk{Deltas: []Delta{{}, {}, {}}}},
	})
}
