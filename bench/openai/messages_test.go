package openai

import "testing"

func TestDecodeMessages(t *testing.T) {
	output := []Delta{{Output: true}}
	reasoning := []Delta{{Reasoning: true}}
	testDecode(t, Messages, []decodeCase{
		{
			`{"type":"message_start","message":{"type":"message","content":[],"usage":{"input_tokens":3,"cache_creation_input_tokens":2,"cache_read_input_tokens":4,"output_tokens":1}}}`,
			Chunk{Usage: Usage{PromptTokens: 9, CachedTokens: 4}},
		},
		{`{"type":"ping"}`, Chunk{}},
		{`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`, Chunk{}},
		{`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`, Chunk{}},
		{`{"type":"content_block_start","index":0,"content_block":{"type":"redacted_thinking","data":"x"}}`, Chunk{Deltas: reasoning}},
		{`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}`, Chunk{Deltas: output}},
		{`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}`, Chunk{Deltas: says("x")}},
		{`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":""}}`, Chunk{}},
		{`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"x"}}`, Chunk{Deltas: reasoning}},
		{`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"x"}}`, Chunk{}},
		{`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":""}}`, Chunk{}},
		{`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{"}}`, Chunk{Deltas: output}},
		{`{"type":"content_block_stop","index":0}`, Chunk{}},
		{
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}`,
			Chunk{Deltas: []Delta{{FinishReason: "end_turn"}}, UsageKnown: true, Usage: Usage{CompletionTokens: 3}},
		},
		{`{"type":"message_delta","delta":{"stop_reason":null}}`, Chunk{}},
		{`{"type":"message_stop"}`, Chunk{Done: true}},
		{`{"type":"a_later_invention","delta":{"text":"x"}}`, Chunk{}},
		{
			`{"type":"message","content":[{"type":"thinking","thinking":"r"},{"type":"text","text":"a"},{"type":"text","text":"b"}],` +
				`"stop_reason":"end_turn","usage":{"input_tokens":8,"output_tokens":3}}`,
			Chunk{
				Deltas:     []Delta{{Output: true, Reasoning: true, Text: []byte("ab"), FinishReason: "end_turn"}},
				UsageKnown: true, Usage: Usage{PromptTokens: 8, CompletionTokens: 3},
			},
		},
	})
}

func TestMessagesAnswer(t *testing.T) {
	start := `{"type":"message_start","message":{"usage":{"input_tokens":3,"cache_read_input_tokens":5,"output_tokens":1}}}`
	text := `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}`
	think := `{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"x"}}`
	stopped := `{"type":"message_delta","delta":{"stop_reason":"max_tokens"},"usage":{"output_tokens":7}}`
	stop := `{"type":"message_stop"}`
	r := runAPI(Messages, 0, false, start, think, text, text, stopped, stop)
	if r.Verdict != Complete || r.OutputTokens != 7 || !r.FromUsage || r.PromptTokens != 8 || r.CachedTokens != 5 ||
		r.First != 20 || r.Out != 30 || r.Last != 40 || r.End != 60 || r.Text != "xx" {
		t.Errorf("%+v", r)
	}
	if r := runAPI(Messages, 0, false, start, text, text); r.Verdict != Truncated || r.OutputTokens != 2 || r.FromUsage {
		t.Errorf("cut: %+v", r)
	}
	// Only message_start counts a token here, and none came.
	if r := runAPI(Messages, 0, false, start, stop); r.Verdict != Empty || r.OutputTokens != 0 {
		t.Errorf("empty: %+v", r)
	}
	if r := runAPI(Messages, 0, false, start, text, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`); r.Verdict != ServerError ||
		r.Message != "Overloaded" || r.OutputTokens != 1 {
		t.Errorf("error: %+v", r)
	}
}
