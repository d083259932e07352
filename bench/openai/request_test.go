package openai

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

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

func TestAppendBody(t *testing.T) {
	r := Request{
		Model: "m", Prompt: "hi", MaxTokens: 7, Stream: true,
		Extensions: Extensions{StreamUsage: true, IgnoreEOS: true, MinTokens: 7},
	}
	for api, want := range map[API]string{
		Chat: `{"model":"m","messages":[{"role":"user","content":"hi"}],"max_tokens":7,"stream":true,` +
			`"stream_options":{"include_usage":true},"ignore_eos":true,"min_tokens":7}`,
		Completions: `{"model":"m","prompt":"hi","max_tokens":7,"stream":true,` +
			`"stream_options":{"include_usage":true},"ignore_eos":true,"min_tokens":7}`,
		Responses:  `{"model":"m","input":"hi","max_output_tokens":7,"stream":true,"ignore_eos":true}`,
		Messages:   `{"model":"m","messages":[{"role":"user","content":"hi"}],"max_tokens":7,"stream":true}`,
		Embeddings: `{"model":"m","input":"hi"}`,
	} {
		if got := string(api.AppendBody(nil, &r)); got != want {
			t.Errorf("%v: %s", api, got)
		}
	}
	if r.Extensions.MinTokens != 7 {
		t.Error("AppendBody changed the request")
	}
}

func TestAppendBodyIsJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := Request{
			Model: rapid.String().Draw(t, "model"), Prompt: rapid.String().Draw(t, "prompt"),
			MaxTokens: rapid.Int().Draw(t, "max"), Stream: rapid.Bool().Draw(t, "stream"),
			Extensions: Extensions{
				StreamUsage: rapid.Bool().Draw(t, "usage"), IgnoreEOS: rapid.Bool().Draw(t, "eos"), MinTokens: rapid.Int().Draw(t, "min"),
			},
		}
		for _, api := range apis {
			type message struct{ Role, Content string }
			var got, want struct {
				Model, Prompt, Input string
				Messages             []message
				MaxTokens            int `json:"max_tokens"`
				MaxOutput            int `json:"max_output_tokens"`
				Stream               bool
			}
			body := api.AppendBody(nil, &r)
			if err := json.Unmarshal(body, &got); err != nil {
				t.Fatalf("%v: %v: %s", api, err, body)
			}
			want.Model = r.Model
			switch api {
			case Completions:
				want.Prompt = r.Prompt
			case Responses, Embeddings:
				want.Input = r.Prompt
			default:
				want.Messages = []message{{"user", r.Prompt}}
			}
			switch api {
			case Embeddings:
			case Responses:
				want.Stream, want.MaxOutput = r.Stream, r.MaxTokens
			default:
				want.Stream, want.MaxTokens = r.Stream, r.MaxTokens
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%v: sent %+v, reads %+v", api, r, got)
			}
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
