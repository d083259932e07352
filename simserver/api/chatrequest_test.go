package api

import (
	"errors"
	"strings"
	"testing"
)

const okMessages = `"messages":[{"role":"user","content":"hi"}]`

func TestDecodeChat(t *testing.T) {
	r, err := decodeChat([]byte(`{"model":"m","messages":[
		{"role":"system","content":"be brief"},
		{"role":"user","content":[{"type":"text","text":"one "},{"type":"text","text":"two"}]},
		{"role":"assistant","content":null}],
		"max_tokens":5,"max_completion_tokens":7,"stream":true,"stream_options":{"include_usage":true},
		"temperature":0.3,"top_p":1,"metadata":{"x":"1"}}`))
	if err != nil {
		t.Fatal(err)
	}
	g := r.llmRequest()
	if len(g.Messages) != 3 || g.Messages[1].Text != "one two" || g.Messages[2].Text != "" {
		t.Errorf("messages: %+v", g.Messages)
	}
	if g.MaxTokens != 7 {
		t.Errorf("max tokens %d, want max_completion_tokens, 7", g.MaxTokens)
	}
	if !r.Stream || !r.Options.IncludeUsage {
		t.Error("stream or include_usage was lost")
	}
}

func TestDecodeChatNamesWhatIsWrong(t *testing.T) {
	for _, c := range []struct{ body, param, message string }{
		{``, "", "empty"},
		{`{`, "", "ends too early"},
		{`{"model" "m"}`, "", "at byte"},
		{`[]`, "", "must be a JSON object, got array"},
		{`{} x`, "", "goes on after the JSON object"},
		{`{"model":"m",` + okMessages + `} {}`, "", "goes on after"},
		{`{` + okMessages + `}`, "model", "missing"},
		{`{"model":7}`, "model", "must be a string, got number"},
		{`{"model":"m"}`, "messages", "missing or empty"},
		{`{"model":"m","messages":[]}`, "messages", "missing or empty"},
		{`{"model":"m","messages":"hi"}`, "messages", "must be an array, got string"},
		{`{"model":"m","messages":[{"role":"robot","content":"hi"}]}`, "messages[0].role", `"robot" is unknown`},
		{`{"model":"m","messages":[{"role":"user","content":7}]}`, "messages", "must be a string, null, or an array"},
		{`{"model":"m","messages":[{"role":"user","content":[{"type":"image_url"}]}]}`, "messages", `type "image_url"`},
		{`{"model":"m","max_tokens":"8",` + okMessages + `}`, "max_tokens", "must be an integer, got string"},
		{`{"model":"m","max_tokens":1.5,` + okMessages + `}`, "max_tokens", "must be an integer, got number 1.5"},
		{`{"model":"m","max_tokens":0,` + okMessages + `}`, "max_tokens", "must be 1 or more"},
		{`{"model":"m","max_tokens":-3,` + okMessages + `}`, "max_tokens", "-3 is not possible"},
		{`{"model":"m","max_completion_tokens":0,` + okMessages + `}`, "max_completion_tokens", "must be 1 or more"},
		{`{"model":"m","min_tokens":9,"max_tokens":8,` + okMessages + `}`, "min_tokens", "above max_tokens 8"},
		{`{"model":"m","stream":"yes",` + okMessages + `}`, "stream", "must be a boolean"},
		{`{"model":"m","stream_options":{"include_usage":1},"stream":true,` + okMessages + `}`, "stream_options.include_usage", "boolean"},
		{`{"model":"m","stream_options":{},` + okMessages + `}`, "stream_options", "only for"},
		{`{"model":"m","temperature":"hot",` + okMessages + `}`, "temperature", "must be a number, got string"},
		{`{"model":"m","stop":5,` + okMessages + `}`, "stop", "must be a string or an array of strings"},
		{`{"model":"m","tools":{},` + okMessages + `}`, "tools", "must be an array"},
		{`{"model":"m","n":0,` + okMessages + `}`, "n", "must be 1 or more"},
		{`{"model":"m","n":129,` + okMessages + `}`, "n", "must be 128 or less"},
		{`{"model":"m","tool_choice":"required",` + okMessages + `}`, "tool_choice", "needs tools"},
	} {
		_, err := decodeChat([]byte(c.body))
		var e *apiError
		if !errors.As(err, &e) {
			t.Errorf("%s: error %v is not in OpenAI's form", c.body, err)
			continue
		}
		if e.status != 400 || e.kind != invalidRequest {
			t.Errorf("%s: status %d, type %s", c.body, e.status, e.kind)
		}
		if e.param != c.param || !strings.Contains(e.message, c.message) {
			t.Errorf("%s: param %q, message %q; want %q, …%s…", c.body, e.param, e.message, c.param, c.message)
		}
	}
}

func FuzzDecodeChat(f *testing.F) {
	f.Add([]byte(`{"model":"m","stream":true,` + okMessages + `}`))
	f.Add([]byte(`{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"x"}]}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := decodeChat(body)
		var e *apiError
		if err != nil && !errors.As(err, &e) {
			t.Errorf("error %v is not in OpenAI's form", err)
		}
		if err == nil && (r.Model == "" || len(r.Messages) == 0 || r.limit() < 0) {
			t.Errorf("accepted %+v", r)
		}
	})
}
