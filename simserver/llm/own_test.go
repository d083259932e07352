package llm

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"llmsim-bench/simserver/plan"
)

func mustSchema(t *testing.T, raw string) *Schema {
	t.Helper()
	s, err := CompileSchema([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const cities = `{"type":"object","properties":{"city":{"enum":["Oslo","Rome"]},"days":{"type":"integer","minimum":1,"maximum":9}},"required":["city","days"],"additionalProperties":false}`

func TestReasoningComesFirstAndCounts(t *testing.T) {
	g := NewGenerator(Options{ContextLength: 200})
	for _, c := range []struct {
		name                       string
		max, min, reasoning        int
		wantReasoning, wantContent int
		reason                     string
	}{
		{"within max_tokens", 50, 0, 16, 16, 34, "length"},
		{"max_tokens is all thought", 10, 0, 16, 10, 0, "length"},
		{"before the default", 0, 0, 16, 16, DefaultOutputTokens, "stop"},
		{"min_tokens counts all", 0, 160, 16, 16, 144, "stop"},
		{"the context is all thought", 0, 0, 500, 199, 0, "length"},
		{"the context cuts the content", 0, 0, 150, 150, 49, "stop"},
	} {
		r := ask("word", c.max)
		r.MinTokens, r.ReasoningTokens = c.min, c.reasoning
		p := mustGenerate(t, g, r)
		choice := p.Choices[0]
		var counts [3]int
		for i, token := range choice.Tokens {
			counts[token.Kind]++
			if token.Kind == plan.Reasoning && i >= c.wantReasoning {
				t.Errorf("%s: reasoning at token %d", c.name, i)
			}
		}
		if counts[plan.Reasoning] != c.wantReasoning || counts[plan.Content] != c.wantContent || choice.FinishReason != c.reason {
			t.Errorf("%s: %d tokens of reasoning, %d of content, %s", c.name, counts[plan.Reasoning], counts[plan.Content], choice.FinishReason)
		}
	}
}

func TestDemandedValue(t *testing.T) {
	g := NewGenerator(Options{ContextLength: 1000})
	r := ask("where?", 500)
	r.Schema, r.IgnoreEOS, r.MinTokens = mustSchema(t, cities), true, 400
	c := mustGenerate(t, g, r).Choices[0]
	var value struct {
		City string
		Days int
	}
	if err := json.Unmarshal([]byte(textOf(c)), &value); err != nil || value.Days < 1 || value.City == "" || c.FinishReason != "stop" {
		t.Errorf("%q, %v, %s: a value ends where it ends", textOf(c), err, c.FinishReason)
	}
	r.MaxTokens, r.MinTokens = 3, 0
	if cut := mustGenerate(t, g, r).Choices[0]; len(cut.Tokens) != 3 || cut.FinishReason != "length" || !strings.HasPrefix(textOf(c), textOf(cut)) {
		t.Errorf("cut: %q, %s", textOf(cut), cut.FinishReason)
	}
	values := map[string]bool{}
	for seed := range int64(40) {
		r = ask("where?", 0)
		r.Schema, r.Seed = mustSchema(t, cities), &seed
		values[textOf(mustGenerate(t, g, r).Choices[0])] = true
	}
	if len(values) < 5 {
		t.Errorf("40 seeds gave %d values", len(values))
	}
}

func TestDemandedCall(t *testing.T) {
	g := NewGenerator(Options{ContextLength: 1000})
	called := map[string]bool{}
	for seed := range int64(20) {
		r := ask("where?", 0)
		r.Seed, r.ReasoningTokens = &seed, 4
		r.Calls = []Tool{{"weather", mustSchema(t, cities)}, {"nothing", mustSchema(t, `{"type":"object","maxProperties":0}`)}}
		c := mustGenerate(t, g, r).Choices[0]
		if len(c.ToolCalls) != 1 || c.FinishReason != "tool_calls" || partOf(c, plan.Content) != "" || c.ToolCalls[0].Start != 4 || c.ToolCalls[0].End != len(c.Tokens) {
			t.Fatalf("%+v", c)
		}
		call := c.ToolCalls[0]
		called[call.Name] = true
		arguments := partOf(c, plan.Arguments)
		if !json.Valid([]byte(arguments)) || (call.Name == "nothing") != (arguments == "{}") || !strings.HasPrefix(call.ID, "call_") {
			t.Errorf("%s(%s) %s", call.Name, arguments, call.ID)
		}
		again := mustGenerate(t, g, r).Choices[0]
		if !reflect.DeepEqual(c, again) {
			t.Error("the same request got two answers")
		}
		r.MaxTokens = 4
		if cut := mustGenerate(t, g, r).Choices[0]; len(cut.ToolCalls) != 0 || cut.FinishReason != "length" {
			t.Errorf("a call that was not begun: %+v", cut.ToolCalls)
		}
		r.MaxTokens = 5
		if call.Name == "nothing" {
			continue // has one token
		}
		if cut := mustGenerate(t, g, r).Choices[0]; len(cut.ToolCalls) != 1 || cut.ToolCalls[0].End != 5 || cut.FinishReason != "length" {
			t.Errorf("a call that was cut: %+v", cut.ToolCalls)
		}
	}
	if len(called) != 2 {
		t.Errorf("of two tools only %v were called", called)
	}
}

func TestChoicesAreIndependent(t *testing.T) {
	for name, g := range map[string]*Generator{
		"filler":   NewGenerator(Options{ContextLength: 1000}),
		"scripted": scriptedGenerator(Script{Default: []Body{{Content: Text{MinTokens: 20, MaxTokens: 30}}, {Error: &ErrorBody{Status: 500}}}}),
	} {
		seed := int64(0)
		r := ask("hello", 0)
		r.Seed = &seed
		one, err := g.Generate(r)
		for err != nil { // another seed does not fail
			seed++
			one, err = g.Generate(r)
		}
		r.N = 16
		p := mustGenerate(t, g, r)
		if len(p.Choices) != 16 || !reflect.DeepEqual(p.Choices[0], one.Choices[0]) {
			t.Errorf("%s: %d choices, of which the first is not the only one's of n = 1", name, len(p.Choices))
		}
		texts := map[string]bool{}
		for _, c := range p.Choices {
			texts[textOf(c)] = true
		}
		if len(texts) != 16 {
			t.Errorf("%s: 16 choices have %d texts", name, len(texts))
		}
	}
}

func TestWhatAnEntrySaysStays(t *testing.T) {
	g := scriptedGenerator(Script{
		Entries: []Entry{{ID: "hi", Match: Match{Exact: []string{"hi"}}, Bodies: says("Hello.")}},
		Default: says("Pardon?"),
	})
	for text, want := range map[string]string{"hi": "Hello.", "what": `{`} {
		r := ask(text, 0)
		r.Schema = mustSchema(t, cities)
		if got := textOf(mustGenerate(t, g, r).Choices[0]); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q…", text, got, want)
		}
	}
	calls := scriptedGenerator(Script{Default: []Body{{Content: plainText("Look."), ToolCalls: []ToolCall{{Name: "f"}}}}})
	r := ask("what", 0)
	r.NoCalls = true
	if c := mustGenerate(t, calls, r).Choices[0]; len(c.ToolCalls) != 0 || textOf(c) != "Look." || c.FinishReason != "stop" {
		t.Errorf("forbidden calls: %+v", c)
	}
	r.NoCalls, r.ReasoningTokens = false, 3
	if c := mustGenerate(t, calls, r).Choices[0]; len(c.ToolCalls) != 1 || c.Tokens[2].Kind != plan.Reasoning || c.Tokens[3].Kind != plan.Content {
		t.Errorf("calls after reasoning: %+v", c)
	}
}

func TestRawPrompts(t *testing.T) {
	g := NewGenerator(Options{ContextLength: 100, TokensPerMessage: 4, TokensPerRequest: 3})
	r := Request{Messages: []Message{{"user", "one two"}}, Raw: true, MaxTokens: 1}
	if p := mustGenerate(t, g, r).Prompt; !reflect.DeepEqual(p, AppendIDs(nil, "one two")) {
		t.Errorf("raw: %v", p)
	}
	r = Request{PromptIDs: []plan.TokenID{5, 6}, MaxTokens: 1}
	if p := mustGenerate(t, g, r).Prompt; !reflect.DeepEqual(p, []plan.TokenID{5, 6}) {
		t.Errorf("ids: %v", p)
	}
	r = Request{Messages: []Message{{"user", "one two"}}, Preamble: "three", MaxTokens: 1}
	if p := mustGenerate(t, g, r).Prompt; len(p) != 1+4+2+3 || p[0] != AppendIDs(nil, "three")[0] {
		t.Errorf("preamble: %v", p)
	}
}
