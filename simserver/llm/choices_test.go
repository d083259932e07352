package llm

import (
	"errors"
	"testing"

	"llmsim-bench/simserver/plan"
)

// A call that is dropped is no reason to end.
func TestDroppedCallsAreNoReason(t *testing.T) {
	g := scriptedGenerator(Script{Default: []Body{{Content: plainText("one"), ToolCalls: []ToolCall{{Name: "f"}}, FinishReason: "tool_calls"}}})
	r := ask("x", 0)
	if c := mustGenerate(t, g, r).Choices[0]; c.FinishReason != "tool_calls" || len(c.ToolCalls) != 1 {
		t.Errorf("with calls: %+v", c)
	}
	r.NoCalls = true
	if c := mustGenerate(t, g, r).Choices[0]; c.FinishReason != "stop" || len(c.ToolCalls) != 0 || partOf(c, plan.Content) != "one" {
		t.Errorf("without calls: %+v", c)
	}
}

// An answer without its reasoning is searched for stops from its first token on, and
// keeps the times of what is left.
func TestReasoningThatIsLeftOut(t *testing.T) {
	body := Body{Reasoning: plainText("one two"), Content: plainText("three four"), Timing: &Timing{
		Reasoning: []Mark{{7, 10}}, Content: []Mark{{5, 20}, {10, 30}}, End: 40,
	}}
	r := ask("x", 0)
	r.NoReasoning = true
	c := mustGenerate(t, scriptedGenerator(Script{Default: []Body{body}}), r).Choices[0]
	if partOf(c, plan.Reasoning) != "" || textOf(c) != "three four" || len(c.Offsets) != 2 || c.Offsets[0] != 20 || c.Offsets[1] != 30 {
		t.Errorf("%+v", c)
	}
	r.Stop = []string{"one"}
	if c := mustGenerate(t, scriptedGenerator(Script{Default: []Body{body}}), r).Choices[0]; textOf(c) != "three four" {
		t.Errorf("%q: what is not said was searched", textOf(c))
	}
}

func TestUnscriptedRequestsAskNoResponses(t *testing.T) {
	g := scriptedGenerator(Script{Default: []Body{{Error: &ErrorBody{Status: 500}}}})
	r := ask("x", 3)
	var scripted *ScriptedError
	if _, err := g.Generate(r); !errors.As(err, &scripted) {
		t.Fatalf("scripted: %v", err)
	}
	r.Unscripted = true
	if p := mustGenerate(t, g, r); p.Entry != "" || len(p.Choices[0].Tokens) != 3 {
		t.Errorf("%+v", p)
	}
}

// No choice is made after one that was not taken, and each is asked about as it will
// be said.
func TestChoicesThatAreNotTaken(t *testing.T) {
	refused := errors.New("too much")
	for name, g := range map[string]*Generator{
		"scripted": scriptedGenerator(Script{Default: says("one two three")}),
		"filler":   NewGenerator(Options{ContextLength: 1000}),
	} {
		r := ask("x", 0)
		r.N = 5
		asked, tokens := 0, 0
		r.Take = func(c *plan.Choice) error {
			asked++
			tokens = len(c.Tokens)
			if asked == 2 {
				return refused
			}
			return nil
		}
		if _, err := g.Generate(r); err != refused || asked != 2 {
			t.Errorf("%s: %v after %d choices", name, err, asked)
		}
		r.N, r.Stop, asked = 1, []string{" "}, 2
		if p, err := g.Generate(r); err != nil || tokens != len(p.Choices[0].Tokens) {
			t.Errorf("%s: asked about %d tokens of %+v (%v)", name, tokens, p, err)
		}
	}
}
