package openai

import (
	"reflect"
	"testing"
)

func TestDecodeEmbeddings(t *testing.T) {
	testDecode(t, Embeddings, []decodeCase{
		{
			`{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.1,-2e-3]}],"usage":{"prompt_tokens":8,"total_tokens":8}}`,
			Chunk{Embedded: true, Usage: Usage{PromptTokens: 8}},
		},
		{`{"data":[{"embedding":"AAAA"}]}`, Chunk{Embedded: true}},
		{`{"data":[{"embedding":[]},{"embedding":""},{}]}`, Chunk{}},
		{`{"data":[]}`, Chunk{}},
		{`{"choices":[{"delta":{"content":"x"}}]}`, Chunk{}},
	})
}

func TestEmbeddingsAnswer(t *testing.T) {
	good := `{"data":[{"embedding":[0.1]}],"usage":{"prompt_tokens":8,"total_tokens":8}}`
	for _, tt := range []struct {
		body    string
		cut     bool
		verdict Verdict
	}{
		{good, false, Complete},
		{good[:20], true, Truncated},
		{good[:20], false, Malformed},
		{`{"data":[]}`, false, Empty},
		{`{"error":{"message":"m"}}`, false, ServerError},
		{"<html></html>", false, Malformed},
		{"data: " + good + "\n\n", false, Malformed},
		{"", false, Empty},
	} {
		for cut := range len(tt.body) + 1 {
			var a Answer
			a.Reset(Embeddings, 3)
			a.Feed([]byte(tt.body[:cut]), at(1))
			a.Feed([]byte(tt.body[cut:]), at(2))
			r := a.Finish(3, tt.cut, "application/json")
			if r.Verdict != tt.verdict || (r.Message == "") != (tt.verdict == Complete) {
				t.Errorf("%q cut at %d: verdict %d, %q", tt.body, cut, r.Verdict, r.Message)
			}
			if want := (Result{
				First: 3, Out: Never, Last: 3, End: 3, FirstCame: at(3), LastCame: at(3), PromptTokens: 8,
			}); tt.verdict == Complete && !reflect.DeepEqual(r, want) {
				t.Errorf("cut at %d: %+v", cut, r)
			}
		}
	}
}
