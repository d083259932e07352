package openai

import (
	"testing"

	"llmsim-bench/internal/wire"
)

func TestDecodeChat(t *testing.T) {
	silent := []Delta{{}}
	reasoning := []Delta{{Reasoning: true}}
	called := []Delta{{Output: true}}
	testDecode(t, Chat, []decodeCase{
		{`[DONE]`, Chunk{Done: true}},
		{` [DONE] `, Chunk{Done: true}},
		{``, Chunk{}},
		{`{"object":"ping"}`, Chunk{}},
		{`{"choices":null}`, Chunk{}},
		{`{"choices":[],"prompt_filter_results":[{}]}`, Chunk{}},
		{`{"choices":[{"delta":null}]}`, Chunk{Deltas: silent}},
		{`{"choices":[{"delta":{"role":"assistant"}}]}`, Chunk{Deltas: silent}},
		{`{"choices":[{"delta":{"role":"assistant","content":""}}]}`, Chunk{Deltas: silent}},
		{`{"choices":[{"delta":{"role":"assistant","content":null,"tool_calls":[]}}]}`, Chunk{Deltas: silent}},
		{`{"choices":[{"delta":{"content":" "}}]}`, Chunk{Deltas: says(" ")}},
		{`{"choices":[{"delta":{"content":[{"type":"text","text":"x"},{"type":"text","text":"y"}]}}]}`, Chunk{Deltas: says("xy")}},
		{`{"choices":[{"delta":{"refusal":"no"}}]}`, Chunk{Deltas: called}},
		{`{"choices":[{"delta":{"reasoning_content":"r"}}]}`, Chunk{Deltas: reasoning}},
		{`{"choices":[{"delta":{"reasoning":"r","content":""}}]}`, Chunk{Deltas: reasoning}},
		{`{"choices":[{"delta":{"reasoning":"r","content":"t"}}]}`, Chunk{Deltas: []Delta{{Output: true, Reasoning: true, Text: []byte("t")}}}},
		{`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":""}}]}}]}`, Chunk{Deltas: called}},
		{`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{"}}]}}]}`, Chunk{Deltas: called}},
		{`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":""}}]}}]}`, Chunk{Deltas: silent}},
		{`{"choices":[{"delta":{"tool_calls":[{"custom":{"input":"x"}}]}}]}`, Chunk{Deltas: called}},
		{`{"choices":[{"delta":{"function_call":{"name":"f"}}}]}`, Chunk{Deltas: called}},
		{`{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}`, Chunk{Deltas: []Delta{{Output: true, Text: []byte("hi"), FinishReason: "stop"}}}},
		{
			`{"choices":[{"index":1,"delta":{"content":"x"}},{"index":0,"delta":{},"finish_reason":"length"}]}`,
			Chunk{Deltas: []Delta{{Choice: 1, Output: true, Text: []byte("x")}, {FinishReason: "length"}}},
		},
		{`{"choices":[{"delta":{"content":"x"},"token_ids":[1,2]}]}`, Chunk{Deltas: []Delta{{Output: true, Text: []byte("x"), Tokens: 2}}}},
		{`{"choices":[{"delta":{"content":"x"},"logprobs":{"content":[{},{},{}]}}]}`, Chunk{Deltas: []Delta{{Output: true, Text: []byte("x"), Tokens: 3}}}},
		{`{"choices":[],"usage":null}`, Chunk{}},
		{`{"choices":[],"usage":{}}`, Chunk{}},
		{`{"choices":[],"usage":{"completion_tokens":-1}}`, Chunk{}},
		{
			`{"choices":[],"usage":{"prompt_tokens":8,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":4}}}`,
			Chunk{UsageKnown: true, Usage: Usage{PromptTokens: 8, CachedTokens: 4, CompletionTokens: 3}},
		},
		{
			`{"choices":[],"llmsim_timing":{"simulated":{"first_ns":1,"last_ns":2},"server":{"first_ns":3,"last_ns":4}}}`,
			Chunk{Timing: &wire.Timing{Simulated: wire.Instants{FirstNS: 1, LastNS: 2}, Server: wire.Instants{FirstNS: 3, LastNS: 4}}},
		},
		{`{"error":{"message":"m","code":500}}`, Chunk{Failed: true, Message: "m"}},
		{`{"error":{"code":500}}`, Chunk{Failed: true, Message: `{"code":500}`}},
		{`{"error":"m"}`, Chunk{Failed: true, Message: "m"}},
		{`{"error":null,"choices":[{"delta":{"content":"x"}}]}`, Chunk{Deltas: says("x")}},
		{`{"object":"error","message":"m"}`, Chunk{Failed: true, Message: "m"}},
		{`{"choices":"x","usage":3,"error":false,"llmsim_timing":7}`, Chunk{}},
		{`{"choices":[3,null,"x"]}`, Chunk{Deltas: []Delta{{}, {}, {}}}},
	})
}
