package llm

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"llmsim-bench/simserver/plan"
)

func TestStops(t *testing.T) {
	for _, c := range []struct {
		name, text string
		stop       []string
		min        int
		keep       bool
		want       string
		reason     string
	}{
		{"within a token", "Hello there friend", []string{"ere"}, 0, false, "Hello th", "stop"},
		{"across tokens", "Hello there friend", []string{"o th"}, 0, false, "Hell", "stop"},
		{"kept", "Hello there friend", []string{"o th"}, 0, true, "Hello th", "stop"},
		{"at a border", "Hello there friend", []string{" there"}, 0, false, "Hello", "stop"},
		{"at the start", "Hello there", []string{"Hel"}, 0, false, "", "stop"},
		{"the first to end", "one two three", []string{"two three", "wo"}, 0, false, "one t", "stop"},
		{"the longer of two that end together", "one two three", []string{"two", "one two"}, 0, false, "", "stop"},
		{"at the end", "one two", []string{"two"}, 0, false, "one ", "stop"},
		{"none", "one two", []string{"three"}, 0, false, "one two", "tool_calls"},
		{"too early", "a b a b a b", []string{"b"}, 2, false, "a b a ", "stop"},
		{"early, ends late", "a b a b a b", []string{"b a"}, 2, false, "a ", "stop"},
	} {
		g := scriptedGenerator(Script{Default: []Body{{Content: plainText(c.text), ToolCalls: []ToolCall{{Name: "f"}}}}})
		r := ask("x", 0)
		r.Stop, r.KeepStop, r.MinTokens = c.stop, c.keep, c.min
		choice := mustGenerate(t, g, r).Choices[0]
		if got := partOf(choice, plan.Content); got != c.want || choice.FinishReason != c.reason || (len(choice.ToolCalls) > 0) != (c.reason != "stop") {
			t.Errorf("%s: %q, %s; want %q, %s", c.name, got, choice.FinishReason, c.want, c.reason)
		}
	}
}

// Reasoning is not looked at, and no token without text is left at the end.
func TestStopLeavesReasoningAlone(t *testing.T) {
	g := scriptedGenerator(Script{Default: []Body{{Reasoning: plainText("one two"), Content: plainText("one two")}}})
	r := ask("x", 0)
	r.Stop = []string{"one"}
	c := mustGenerate(t, g, r).Choices[0]
	if partOf(c, plan.Reasoning) != "one two" || len(c.Tokens) != 2 || c.FinishReason != "stop" {
		t.Errorf("%+v", c)
	}
}

// What is said is the text up to the first stop, in as many tokens as it takes.
func TestStopsAnywhere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("ab 日"))).Draw(t, "text")
		stop := rapid.StringOfN(rapid.SampledFrom([]rune("ab 日")), 1, 4, -1).Draw(t, "stop")
		c := plan.Choice{Tokens: regexTokenizer{}.AppendTokens(nil, text, false), FinishReason: "length"}
		before := len(c.Tokens)
		r := Request{Stop: []string{stop}}
		r.endAtStop(&c)
		want, _, found := strings.Cut(text, stop)
		if got := textOf(c); got != want || (c.FinishReason == "stop") != found {
			t.Fatalf("%q without %q is %q, %s", text, stop, got, c.FinishReason)
		}
		if len(c.Tokens) > max(before, 1) || len(c.Tokens) > 1 && c.Tokens[len(c.Tokens)-1].Text == "" {
			t.Fatalf("%d tokens of %d, the last is %q", len(c.Tokens), before, c.Tokens[len(c.Tokens)-1].Text)
		}
	})
}
