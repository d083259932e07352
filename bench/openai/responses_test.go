package openai

import (
	"strings"
	"testing"
)

const wholeResponse = `{"object":"response","status":"completed","error":null,"output":[` +
	`{"type":"reasoning","summary":[{"type":"summary_text","text":"r"}]},` +
	`{"type":"message","content":[{"type":"output_text","text":"a"},{"type":"output_text","text":"b"}]},` +
	`{"type":"message","content":[{"type":"output_text","text":"c"},{"type":"refusal","refusal":"no"}]}],` +
	`"usage":{"input_tokens":8,"input_tokens_details":{"cached_tokens":4},"output_tokens":5}}`

func TestDecodeResponses(t *testing.T) {
	output := []Delta{{Output: true}}
	reasoning := []Delta{{Reasoning: true}}
	whole := Chunk{
		Deltas:     []Delta{{Output: true, Reasoning: true, Text: []byte("abc")}},
		UsageKnown: true, Usage: Usage{PromptTokens: 8, CachedTokens: 4, CompletionTokens: 5},
	}
	repeated := whole
	repeated.Done, repeated.Repeats = true, true
	testDecode(t, Responses, []decodeCase{
		{`{"type":"response.created","response":{"status":"in_progress","output":[],"error":null,"usage":null}}`, Chunk{}},
		{`{"type":"response.output_item.added","item":{"type":"message","content":[]}}`, Chunk{}},
		{`{"type":"response.output_item.added","item":{"type":"function_call","name":"f","arguments":""}}`, Chunk{Deltas: output}},
		{`{"type":"response.output_text.delta","delta":"x"}`, Chunk{Deltas: says("x")}},
		{`{"type":"response.output_text.delta","delta":""}`, Chunk{}},
		{`{"type":"response.output_text.delta","delta":"x","logprobs":[{},{}]}`, Chunk{Deltas: []Delta{{Output: true, Text: []byte("x"), Tokens: 2}}}},
		{`{"type":"response.output_text.done","text":"x"}`, Chunk{}},
		{`{"type":"response.content_part.done","part":{"type":"output_text","text":"x"}}`, Chunk{}},
		{`{"type":"response.refusal.delta","delta":"x"}`, Chunk{Deltas: output}},
		{`{"type":"response.function_call_arguments.delta","delta":"{"}`, Chunk{Deltas: output}},
		{`{"type":"response.function_call_arguments.done","arguments":"{}","name":"f"}`, Chunk{}},
		{`{"type":"response.custom_tool_call_input.delta","delta":"x"}`, Chunk{Deltas: output}},
		{`{"type":"response.reasoning_text.delta","delta":"x"}`, Chunk{Deltas: reasoning}},
		{`{"type":"response.reasoning_summary_text.delta","delta":"x"}`, Chunk{Deltas: reasoning}},
		{`{"type":"response.reasoning_text.delta","delta":""}`, Chunk{}},
		{`{"type":"other.delta","delta":"x"}`, Chunk{}},
		{`{"type":"response.completed","response":` + wholeResponse + `}`, repeated},
		{`{"type":"response.incomplete","response":` + strings.Replace(wholeResponse, "completed", "incomplete", 1) + `}`, repeated},
		{`{"type":"response.completed"}`, Chunk{Done: true, Repeats: true}},
		{`{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"m"}}}`, Chunk{Failed: true, Message: "m"}},
		{`{"type":"response.failed"}`, Chunk{Failed: true, Message: "the response did not complete; the server gives no reason"}},
		{wholeResponse, whole},
		{`{"object":"response","status":"completed","output":[{"type":"function_call","name":"f","arguments":"{}"}]}`, Chunk{Deltas: output}},
		{`{"object":"response","status":"cancelled","error":null}`, Chunk{Failed: true, Message: "the response did not complete; the server gives no reason"}},
		{`{"object":"response","status":"failed","error":{"message":"m"}}`, Chunk{Failed: true, Message: "m"}},
		{`{"object":"response","output":[{"type":"web_search_call","status":"completed"},7,null]}`, Chunk{}},
	})
}

func TestResponsesAnswer(t *testing.T) {
	completed := `{"type":"response.completed","response":` + wholeResponse + `}`
	r := runAPI(Responses, 0, false, `{"type":"response.reasoning_text.delta","delta":"r"}`,
		`{"type":"response.output_text.delta","delta":"x"}`, completed, "garbage")
	if r.Verdict != Complete || r.OutputTokens != 5 || !r.FromUsage || r.Text != "x" || len(r.Tokens) != 2 ||
		r.First != 10 || r.Out != 20 || r.Last != 20 || r.End != 30 || r.CachedTokens != 4 {
		t.Errorf("the whole answer was counted once more: %+v", r)
	}
	r = runAPI(Responses, 0, false, completed)
	if r.Verdict != Complete || r.OutputTokens != 5 || r.Text != "abc" || len(r.Tokens) != 1 || r.Last != 10 {
		t.Errorf("the terminal event alone: %+v", r)
	}
	r = runAPI(Responses, 0, false, `{"type":"response.output_text.delta","delta":"x"}`)
	if r.Verdict != Truncated {
		t.Errorf("no terminal event: %+v", r)
	}
}
