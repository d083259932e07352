package simserver_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"

	"llmsim-bench/simserver/simtest"
)

func TestCompletions(t *testing.T) {
	sim := simtest.Start(t, simtest.WithModels(chatModels))
	c := client(sim)
	p := openai.CompletionNewParams{
		Model: "sim", Prompt: openai.CompletionNewParamsPromptUnion{OfString: openai.String("one two three")},
		N: openai.Int(2), Logprobs: openai.Int(2),
	}
	whole, err := c.Completions.New(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if u := whole.Usage; u.PromptTokens != 3 || u.CompletionTokens != 32 || len(whole.Choices) != 2 || whole.Choices[0].FinishReason != "length" {
		t.Errorf("%s", whole.RawJSON())
	}
	p.StreamOptions.IncludeUsage = openai.Bool(true)
	stream := c.Completions.NewStreaming(t.Context(), p)
	texts, events := make([]string, 2), 0
	var tokens [2][]string
	var last openai.Completion
	for stream.Next() {
		last = stream.Current()
		for _, choice := range last.Choices {
			texts[choice.Index] += choice.Text
			tokens[choice.Index] = append(tokens[choice.Index], choice.Logprobs.Tokens...)
			if choice.Text != "" {
				events++
			}
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	if events != 32 || last.Usage.RawJSON() != whole.Usage.RawJSON() {
		t.Errorf("%d token events, usage %s", events, last.Usage.RawJSON())
	}
	for i, choice := range whole.Choices {
		l := choice.Logprobs
		if texts[i] != choice.Text || strings.Join(l.Tokens, "") != choice.Text || !slices.Equal(tokens[i], l.Tokens) || len(l.TokenLogprobs) != 16 || len(l.TopLogprobs) != 16 {
			t.Errorf("streamed %q, whole %s", texts[i], choice.RawJSON())
		}
		offset := 0
		for k, token := range l.Tokens {
			if l.TopLogprobs[k][token] != l.TokenLogprobs[k] || len(l.TopLogprobs[k]) != 2 || l.TextOffset[k] != int64(offset) {
				t.Errorf("token %d of %s", k, l.RawJSON())
			}
			offset += len(token)
		}
	}
	p = openai.CompletionNewParams{Model: "batched", Prompt: openai.CompletionNewParamsPromptUnion{OfArrayOfTokens: []int64{5, 6, 7, 8}}, MaxTokens: openai.Int(3)}
	if got, err := c.Completions.New(t.Context(), p); err != nil || got.Usage.PromptTokens != 4 || got.Usage.CompletionTokens != 3 {
		t.Errorf("token ids: %v, %v", got, err)
	}
}

func TestEmbeddings(t *testing.T) {
	sim := simtest.Start(t, simtest.WithModels(chatModels))
	c := client(sim)
	for _, model := range []string{"sim", "batched"} {
		p := openai.EmbeddingNewParams{
			Model: model, Input: openai.EmbeddingNewParamsInputUnion{OfArrayOfStrings: []string{"one two", "three", "one two"}},
			Dimensions: param.NewOpt[int64](64), EncodingFormat: "float",
		}
		got, err := c.Embeddings.New(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Data) != 3 || got.Usage.PromptTokens != 5 || got.Usage.TotalTokens != 5 || got.Data[2].Index != 2 {
			t.Fatalf("%s", got.RawJSON())
		}
		sum := 0.0
		for _, x := range got.Data[0].Embedding {
			sum += x * x
		}
		if len(got.Data[0].Embedding) != 64 || math.Abs(sum-1) > 1e-5 {
			t.Errorf("%d dimensions of length² %v", len(got.Data[0].Embedding), sum)
		}
		if !slices.Equal(got.Data[0].Embedding, got.Data[2].Embedding) || slices.Equal(got.Data[0].Embedding, got.Data[1].Embedding) {
			t.Error("equal texts must have equal vectors, others not")
		}
		p.EncodingFormat = "base64"
		encoded, err := c.Embeddings.New(t.Context(), p)
		if err != nil || !strings.Contains(encoded.RawJSON(), `"embedding":"`) {
			t.Errorf("%v, %v", encoded, err)
		}
	}
	n := summary(t, sim, "").Models["batched"]
	if n.Requests.Completed != 2 || n.PromptTokens != 10 || n.OutputTokens != 2 {
		t.Errorf("%+v", n)
	}
}
