package llm

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"llmsim-bench/simserver/plan"
)

func ask(text string, maxTokens int) Request {
	return Request{Messages: []Message{{Role: "user", Text: text}}, MaxTokens: maxTokens}
}

func mustGenerate(t rapid.TB, g *Generator, r Request) *plan.Plan {
	t.Helper()
	p, err := g.Generate(r)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func textOf(c plan.Choice) string {
	var b strings.Builder
	for _, token := range c.Tokens {
		b.WriteString(token.Text)
	}
	return b.String()
}

// TestFillerHasExactlyItsTokens: the joined text has N tokens to the tokenizer,
// and they are the plan's, ids included, so that an answer sent back as a prompt
// meets the prefix cache that its tokens filled.
func TestFillerHasExactlyItsTokens(t *testing.T) {
	g := NewGenerator(Options{ContextLength: 1 << 20})
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 3000).Draw(t, "n")
		r := ask(rapid.String().Draw(t, "prompt"), n)
		seed := rapid.Int64().Draw(t, "seed")
		r.Seed = &seed
		choice := mustGenerate(t, g, r).Choices[0]
		if len(choice.Tokens) != n || choice.FinishReason != "length" {
			t.Fatalf("%d tokens ending for %q, want %d for length", len(choice.Tokens), choice.FinishReason, n)
		}
		text := textOf(choice)
		got := Encode(text)
		if len(got) != n {
			t.Fatalf("the text has %d tokens, want %d: %q", len(got), n, text)
		}
		for i, token := range choice.Tokens {
			if got[i] != token.Text || tokenID(got[i]) != token.ID {
				t.Fatalf("token %d is %q, the tokenizer says %q", i, token.Text, got[i])
			}
		}
	})
}

func TestFillerReadsLikeSentences(t *testing.T) {
	text := textOf(mustGenerate(t, NewGenerator(Options{ContextLength: 4096}), ask("Tell me.", 2000)).Choices[0])
	if first := text[0]; first < 'A' || first > 'Z' {
		t.Errorf("starts with %q", first)
	}
	for _, want := range []string{". ", ", "} {
		if !strings.Contains(text, want) {
			t.Errorf("2,000 tokens hold no %q", want)
		}
	}
}

func TestAnswerDependsOnSeedAndPromptOnly(t *testing.T) {
	g := NewGenerator(Options{ContextLength: 1000, Seed: 7})
	base := mustGenerate(t, g, ask("hello", 50))
	if again := mustGenerate(t, g, ask("hello", 50)); !reflect.DeepEqual(base, again) {
		t.Error("the same request got two answers")
	}
	own := ask("hello", 50)
	seven, eight := int64(7), int64(8)
	if own.Seed = &seven; !reflect.DeepEqual(base, mustGenerate(t, g, own)) {
		t.Error("a request that brings the generator's seed got another answer")
	}
	if own.Seed = &eight; textOf(base.Choices[0]) == textOf(mustGenerate(t, g, own).Choices[0]) {
		t.Error("another seed got the same answer")
	}
	if textOf(base.Choices[0]) == textOf(mustGenerate(t, g, ask("goodbye", 50)).Choices[0]) {
		t.Error("another prompt got the same answer")
	}
	shorter := textOf(mustGenerate(t, g, ask("hello", 20)).Choices[0])
	if !strings.HasPrefix(textOf(base.Choices[0]), shorter) {
		t.Error("a longer answer does not start with the shorter one")
	}
}

func TestPromptIDs(t *testing.T) {
	messages := []Message{{"system", "Be brief."}, {"user", "How many legs?"}}
	plain := mustGenerate(t, NewGenerator(Options{ContextLength: 100}), Request{Messages: messages}).Prompt
	want := AppendIDs(AppendIDs(nil, "Be brief."), "How many legs?")
	if !slices.Equal(plain, want) {
		t.Errorf("prompt is %v, want the messages' tokens in order, %v", plain, want)
	}

	g := NewGenerator(Options{ContextLength: 100, TokensPerMessage: 4, TokensPerRequest: 3})
	with := mustGenerate(t, g, Request{Messages: messages}).Prompt
	if len(with) != len(plain)+2*4+3 {
		t.Errorf("with a template of 4 a message and 3 a request: %d ids, want %d", len(with), len(plain)+11)
	}
	messages[0].Role = "developer"
	other := mustGenerate(t, g, Request{Messages: messages}).Prompt
	if slices.Equal(with, other) || len(with) != len(other) {
		t.Error("another role must change the template's ids, not their number")
	}
}

func TestLengthWhenNotGiven(t *testing.T) {
	prompt := strings.Repeat(" word", 10)
	for _, tc := range []struct {
		name    string
		options Options
		want    int
	}{
		{"the constant", Options{ContextLength: 1000}, DefaultOutputTokens},
		{"the option", Options{ContextLength: 1000, DefaultOutputTokens: 5}, 5},
		{"the room left", Options{ContextLength: 30}, 20},
		{"one token of room", Options{ContextLength: 11}, 1},
	} {
		choice := mustGenerate(t, NewGenerator(tc.options), ask(prompt, 0)).Choices[0]
		if len(choice.Tokens) != tc.want || choice.FinishReason != "stop" {
			t.Errorf("%s: %d tokens, %q, want %d, stop", tc.name, len(choice.Tokens), choice.FinishReason, tc.want)
		}
	}
}

func TestContextIsFilledToTheLastToken(t *testing.T) {
	g := NewGenerator(Options{ContextLength: 30})
	p := mustGenerate(t, g, ask(strings.Repeat(" word", 10), 20))
	if got := len(p.Prompt) + p.OutputTokens(); got != 30 {
		t.Errorf("prompt and answer have %d tokens, want all 30", got)
	}
}

func TestContextError(t *testing.T) {
	for _, tc := range []struct {
		name              string
		prompt, maxTokens int
		want              string
	}{
		{
			"one token too many", 24, 9,
			"This model's maximum context length is 32 tokens. However, you requested 33 tokens " +
				"(24 in the messages, 9 in the completion). Please reduce the length of the messages or completion.",
		},
		{
			"a sum past the largest int", 24, math.MaxInt,
			"This model's maximum context length is 32 tokens. However, you requested 9223372036854775831 tokens " +
				"(24 in the messages, 9223372036854775807 in the completion). Please reduce the length of the messages or completion.",
		},
		{
			"the prompt alone", 32, 0,
			"This model's maximum context length is 32 tokens. However, your messages resulted in 32 tokens, " +
				"which leaves no room for a completion. Please reduce the length of the messages.",
		},
		{
			"the prompt alone, with a length", 40, 1,
			"This model's maximum context length is 32 tokens. However, you requested 41 tokens " +
				"(40 in the messages, 1 in the completion). Please reduce the length of the messages or completion.",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewGenerator(Options{ContextLength: 32})
			_, err := g.Generate(ask(strings.Repeat(" word", tc.prompt), tc.maxTokens))
			var ce *ContextError
			if !errors.As(err, &ce) {
				t.Fatalf("error is %v, want a *ContextError", err)
			}
			if *ce != (ContextError{PromptTokens: tc.prompt, MaxTokens: tc.maxTokens, ContextLength: 32}) {
				t.Errorf("error holds %+v", *ce)
			}
			if err.Error() != tc.want {
				t.Errorf("error reads\n %s\nwant\n %s", err, tc.want)
			}
		})
	}
}

func TestNegativeMaxTokens(t *testing.T) {
	_, err := NewGenerator(Options{ContextLength: 32}).Generate(ask("hi", -1))
	if err == nil || !strings.Contains(err.Error(), "-1") {
		t.Errorf("error is %v, want one that names -1", err)
	}
}

func BenchmarkGenerate(b *testing.B) {
	g := NewGenerator(Options{ContextLength: 32768})
	r := ask(benchmarkPrompt(512), 64)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := g.Generate(r); err != nil {
			b.Fatal(err)
		}
	}
}

func TestMinTokensLengthensADefaultAnswer(t *testing.T) {
	g := NewGenerator(Options{ContextLength: 1000})
	for _, c := range []struct{ max, min, want int }{{0, 10, DefaultOutputTokens}, {0, 200, 200}, {50, 20, 50}} {
		p, err := g.Generate(Request{Messages: []Message{{"user", "hi"}}, MaxTokens: c.max, MinTokens: c.min})
		if err != nil || p.OutputTokens() != c.want {
			t.Errorf("max %d, min %d: %d tokens, %v; want %d", c.max, c.min, p.OutputTokens(), err, c.want)
		}
	}
	var tooLong *ContextError
	if _, err := g.Generate(Request{Messages: []Message{{"user", "hi"}}, MinTokens: 1000}); !errors.As(err, &tooLong) {
		t.Errorf("min tokens past the context: %v", err)
	}
}
