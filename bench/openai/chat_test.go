package openai

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"llmsim-bench/bench/sse"
	"llmsim-bench/internal/wire"
)

func TestDecode(t *testing.T) {
	text := []Delta{{Output: true}}
	reasoning := []Delta{{Reasoning: true}}
	silent := []Delta{{}}
	for _, tt := range []struct {
		data string
		want Chunk
	}{
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
		{`{"choices":[{"delta":{"content":" "}}]}`, Chunk{Deltas: text}},
		{`{"choices":[{"delta":{"content":[{"type":"text","text":"x"}]}}]}`, Chunk{Deltas: text}},
		{`{"choices":[{"delta":{"refusal":"no"}}]}`, Chunk{Deltas: text}},
		{`{"choices":[{"delta":{"reasoning_content":"r"}}]}`, Chunk{Deltas: reasoning}},
		{`{"choices":[{"delta":{"reasoning":"r","content":""}}]}`, Chunk{Deltas: reasoning}},
		{`{"choices":[{"delta":{"reasoning":"r","content":"t"}}]}`, Chunk{Deltas: []Delta{{Output: true, Reasoning: true}}}},
		{`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":""}}]}}]}`, Chunk{Deltas: text}},
		{`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{"}}]}}]}`, Chunk{Deltas: text}},
		{`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":""}}]}}]}`, Chunk{Deltas: silent}},
		{`{"choices":[{"delta":{"tool_calls":[{"custom":{"input":"x"}}]}}]}`, Chunk{Deltas: text}},
		{`{"choices":[{"delta":{"function_call":{"name":"f"}}}]}`, Chunk{Deltas: text}},
		{`{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}`, Chunk{Deltas: []Delta{{Output: true, FinishReason: "stop"}}}},
		{
			`{"choices":[{"index":1,"delta":{"content":"x"}},{"index":0,"delta":{},"finish_reason":"length"}]}`,
			Chunk{Deltas: []Delta{{Choice: 1, Output: true}, {FinishReason: "length"}}},
		},
		{`{"choices":[{"delta":{"content":"x"},"token_ids":[1,2]}]}`, Chunk{Deltas: []Delta{{Output: true, Tokens: 2}}}},
		{`{"choices":[{"delta":{"content":"x"},"logprobs":{"content":[{},{},{}]}}]}`, Chunk{Deltas: []Delta{{Output: true, Tokens: 3}}}},
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
		{`{"error":null,"choices":[{"delta":{"content":"x"}}]}`, Chunk{Deltas: text}},
		{`{"object":"error","message":"m"}`, Chunk{Failed: true, Message: "m"}},
		{`{"choices":"x","usage":3,"error":false,"llmsim_timing":7}`, Chunk{}},
		{`{"choices":[3,null,"x"]}`, Chunk{Deltas: []Delta{{}, {}, {}}}},
	} {
		var d ChatDecoder
		got, err := d.Decode(sse.Event{Data: []byte(tt.data)})
		if len(got.Deltas) == 0 {
			got.Deltas = nil
		}
		if err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: got %+v, %v; want %+v", tt.data, got, err, tt.want)
		}
	}
}

func TestDecodeErrors(t *testing.T) {
	var d ChatDecoder
	for _, data := range []string{`{`, `{"choices":[`, `<html>`, `3`, `"x"`, `[]`, `null`, "[DONE", strings.Repeat(`[`, 1000)} {
		if c, err := d.Decode(sse.Event{Data: []byte(data)}); err == nil {
			t.Errorf("%.20s: %+v, want an error", data, c)
		}
	}
	c, err := d.Decode(sse.Event{Name: []byte("error"), Data: []byte(`{"message":"m"}`)})
	if err != nil || !c.Failed || c.Message != "m" {
		t.Errorf("an event named error: %+v, %v", c, err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"choices":[{"index":1,"delta":{"content":"x","tool_calls":[{"function":{}}]}}],"usage":{"completion_tokens":1}}`))
	f.Add([]byte(`{"error":{"message":"\ud83d"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var d ChatDecoder
		c, err := d.Decode(sse.Event{Data: data})
		if err == nil && c.Done && strings.TrimSpace(string(data)) != "[DONE]" {
			t.Errorf("%q is taken for the end", data)
		}
		if n := len([]rune(c.Message)); n > maxMessageRunes+1 {
			t.Errorf("a message of %d characters", n)
		}
	})
}

func TestDecodeAllocatesNothing(t *testing.T) {
	var d ChatDecoder
	ev := sse.Event{Data: []byte(`{"id":"c1","model":"m","choices":[{"index":0,"delta":{"content":" \u00e9\n"},"finish_reason":null}]}`)}
	n := testing.AllocsPerRun(100, func() {
		if _, err := d.Decode(ev); err != nil {
			t.Fatal(err)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations an event", n)
	}
}

func TestErrorMessage(t *testing.T) {
	for body, want := range map[string]string{
		`{"error":{"message":"max_tokens is too large","type":"invalid_request_error"}}`: "max_tokens is too large",
		`{"error":"m"}`:                 "m",
		`{"message":"m"}`:               "m",
		`{"detail":"Not Found"}`:        "Not Found",
		`{"detail":[{"loc":["body"]}]}`: `{"detail":[{"loc":["body"]}]}`,
		"upstream  connect\nerror ":     "upstream connect error",
		"":                              "",
		"\xff":                          "\uFFFD",
		strings.Repeat("é", 201):        strings.Repeat("é", 200) + "…",
		`{"error":"` + strings.Repeat("x", 300) + `"}`:  strings.Repeat("x", 200) + "…",
		`{"error":{"message":"","code":"overloaded"} }`: `{"message":"","code":"overloaded"}`,
	} {
		if got := ErrorMessage([]byte(body)); got != want {
			t.Errorf("%s: got %q, want %q", body, got, want)
		}
	}
}

func TestAppendBodySendsOnlyWhatIsAsked(t *testing.T) {
	r := Request{Model: "m", Prompt: "say \"hi\"\n", MaxTokens: 7, Stream: true}
	if got, want := string(Chat.AppendBody([]byte("x"), &r)), `x{"model":"m","messages":[{"role":"user","content":"say \"hi\"\n"}],"max_tokens":7,"stream":true}`; got != want {
		t.Errorf("plain: %s", got)
	}
	r.Extensions = Extensions{StreamUsage: true, IgnoreEOS: true, MinTokens: 7}
	if got, want := string(Chat.AppendBody(nil, &r)), `,"max_tokens":7,"stream":true,"stream_options":{"include_usage":true},"ignore_eos":true,"min_tokens":7}`; !strings.HasSuffix(got, want) {
		t.Errorf("extended: %s", got)
	}
	r.Stream = false
	if got := string(Chat.AppendBody(nil, &r)); strings.Contains(got, "stream_options") {
		t.Errorf("stream options without a stream: %s", got)
	}
}

func TestAppendBodyIsJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := Request{
			Model: rapid.String().Draw(t, "model"), Prompt: rapid.String().Draw(t, "prompt"),
			MaxTokens: rapid.Int().Draw(t, "max"), Stream: rapid.Bool().Draw(t, "stream"),
		}
		var back struct {
			Model    string
			Messages []struct{ Role, Content string }
			Max      int `json:"max_tokens"`
			Stream   bool
		}
		if err := json.Unmarshal(Chat.AppendBody(nil, &r), &back); err != nil {
			t.Fatal(err)
		}
		if back.Model != r.Model || len(back.Messages) != 1 || back.Messages[0].Content != r.Prompt ||
			back.Messages[0].Role != "user" || back.Max != r.MaxTokens || back.Stream != r.Stream {
			t.Fatalf("sent %+v, reads %+v", r, back)
		}
	})
}

func TestExactTokens(t *testing.T) {
	for _, tt := range []struct {
		ext  Extensions
		want int
	}{
		{Extensions{}, 0},
		{Extensions{StreamUsage: true, MinTokens: 63}, 0},
		{Extensions{MinTokens: 64}, 64},
		{Extensions{IgnoreEOS: true}, 64},
	} {
		if got := tt.ext.ExactTokens(64); got != tt.want {
			t.Errorf("%+v: %d, want %d", tt.ext, got, tt.want)
		}
	}
}
