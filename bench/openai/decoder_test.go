package openai

import (
	"reflect"
	"strings"
	"testing"

	"llmsim-bench/bench/sse"
)

// apis are all there are.
var apis = []API{Chat, Completions, Responses, Messages, Embeddings}

type decodeCase struct {
	data string
	want Chunk
}

// says is one choice's text.
func says(text string) []Delta { return []Delta{{Output: true, Text: []byte(text)}} }

// testDecode decodes events with one decoder after another and with one for all.
func testDecode(t *testing.T, api API, cases []decodeCase) {
	t.Helper()
	used := Decoder{API: api}
	for _, tt := range cases {
		for name, d := range map[string]*Decoder{"new": {API: api}, "used": &used} {
			got, err := d.Decode(sse.Event{Data: []byte(tt.data)})
			if len(got.Deltas) == 0 {
				got.Deltas = nil
			}
			for i := range got.Deltas {
				if len(got.Deltas[i].Text) == 0 {
					got.Deltas[i].Text = nil
				}
			}
			if err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("%s: a %s decoder says %+v, %v; want %+v", tt.data, name, got, err, tt.want)
			}
		}
	}
}

// What every dialect has in common.
func TestDecodeShared(t *testing.T) {
	for _, api := range apis {
		testDecode(t, api, []decodeCase{
			{`[DONE]`, Chunk{Done: true}},
			{` [DONE] `, Chunk{Done: true}},
			{``, Chunk{}},
			{`{"error":{"message":"m","code":500}}`, Chunk{Failed: true, Message: "m"}},
			{`{"error":{"code":500}}`, Chunk{Failed: true, Message: `{"code":500}`}},
			{`{"error":"m"}`, Chunk{Failed: true, Message: "m"}},
			{`{"object":"error","message":"m"}`, Chunk{Failed: true, Message: "m"}},
			{`{"type":"error","error":{"type":"overloaded_error","message":"m"}}`, Chunk{Failed: true, Message: "m"}},
			{`{"type":"error","code":"c","message":"m","param":null}`, Chunk{Failed: true, Message: "m"}},
		})
	}
}

func TestDecodeErrors(t *testing.T) {
	for _, api := range apis {
		d := Decoder{API: api}
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
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"choices":[{"index":1,"delta":{"content":"x","tool_calls":[{"function":{}}]}}],"usage":{"completion_tokens":1}}`))
	f.Add([]byte(`{"error":{"message":"\ud83d"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, api := range apis {
			d := Decoder{API: api}
			c, err := d.Decode(sse.Event{Data: data})
			if err == nil && c.Done && strings.TrimSpace(string(data)) != "[DONE]" {
				t.Errorf("%q is taken for the end", data)
			}
			if n := len([]rune(c.Message)); n > maxMessageRunes+1 {
				t.Errorf("a message of %d characters", n)
			}
		}
	})
}

// tokenEvents is an event that carries a token, by dialect, as servers send it.
var tokenEvents = map[API]string{
	Chat:        `{"id":"c1","model":"m","choices":[{"index":0,"delta":{"content":" \u00e9\n"},"finish_reason":null}]}`,
	Completions: `{"id":"c1","model":"m","choices":[{"index":0,"text":" \u00e9\n","logprobs":{"tokens":["x"]},"finish_reason":null}]}`,
	Responses:   `{"type":"response.output_text.delta","item_id":"i","output_index":0,"delta":" \u00e9\n","logprobs":[]}`,
	Messages:    `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" \u00e9\n"}}`,
}

func TestDecodeAllocatesNothing(t *testing.T) {
	for api, data := range tokenEvents {
		d := Decoder{API: api}
		ev := sse.Event{Data: []byte(data)}
		n := testing.AllocsPerRun(100, func() {
			c, err := d.Decode(ev)
			if err != nil || len(c.Deltas) != 1 || !c.Deltas[0].Output {
				t.Fatalf("%v: %+v, %v", api, c, err)
			}
		})
		if n != 0 {
			t.Errorf("%v: %v allocations an event", api, n)
		}
	}
}
