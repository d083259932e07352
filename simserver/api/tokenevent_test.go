package api

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"llmsim-bench/simserver/engine"
	"llmsim-bench/simserver/plan"
)

// spoken is an answer of every kind of token: with names that look like marks.
func spoken(o *order) *answer {
	token := func(kind plan.Kind, text string) plan.Token {
		return plan.Token{ID: plan.TokenID(len(text)), Kind: kind, Text: text}
	}
	a := &answer{order: o, head: testHead, usage: usage{PromptTokens: 40}}
	a.request = engine.Request{Plan: &plan.Plan{Choices: []plan.Choice{{
		Tokens: []plan.Token{
			token(plan.Reasoning, "Hm\n"), token(plan.Reasoning, "日"), token(plan.Content, `{"`), token(plan.Content, " word"),
			token(plan.Arguments, `{"a":`), token(plan.Arguments, "1}"), token(plan.Arguments, "{}"),
		},
		ToolCalls: []plan.ToolCall{
			{ID: usageMark, Name: logprobsMark, Start: 4, End: 6},
			{ID: "call_2", Name: textMark, Start: 6, End: 7},
		},
		FinishReason: "tool_calls",
	}}}}
	a.renderers = []*choiceRenderer{newChoiceRenderer(a, 0)}
	return a
}

func chatOrder() *order {
	return &order{form: chatForm{}, streamed: true, everyUsage: true, alternatives: 2}
}

// Each event must be what a plain encoder makes of it.
func TestEventsOfEveryKind(t *testing.T) {
	a := spoken(chatOrder())
	for i := range a.request.Plan.Choices[0].Tokens {
		a.Prepare(plan.TokenEvent{Index: i})
	}
	events := strings.Split(strings.TrimSuffix(string(a.prepared), "\n\n"), "\n\n")
	if len(events) != 9 {
		t.Fatalf("%d events, want one for the role, each of 7 tokens and the end:\n%s", len(events), a.prepared)
	}
	for i, want := range []string{
		`{"role":"assistant","content":""}`,
		`{"reasoning_content":"Hm\n"}`, `{"reasoning_content":"日"}`, `{"content":"{\""}`, `{"content":" word"}`,
		`{"tool_calls":[{"index":0,"id":"\u0000usage","type":"function","function":{"name":"\u0000logprobs","arguments":"{\"a\":"}}]}`,
		`{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}`,
		`{"tool_calls":[{"index":1,"id":"call_2","type":"function","function":{"name":"\u0000","arguments":"{}"}}]}`,
		`{}`,
	} {
		data := strings.TrimPrefix(events[i], "data: ")
		var got struct {
			Choices []struct {
				Delta        json.RawMessage
				Logprobs     *struct{ Content []any }
				FinishReason *string `json:"finish_reason"`
			}
			Usage map[string]int
		}
		if err := json.Unmarshal([]byte(data), &got); err != nil || len(got.Choices) != 1 {
			t.Fatalf("%s: %v", data, err)
		}
		c := got.Choices[0]
		if string(c.Delta) != want {
			t.Errorf("event %d has the delta %s, want %s", i, c.Delta, want)
		}
		if isContent := i == 3 || i == 4; isContent != (c.Logprobs != nil && len(c.Logprobs.Content) == 1) {
			t.Errorf("event %d: logprobs %v", i, c.Logprobs)
		}
		if (c.FinishReason != nil) != (i == 8) {
			t.Errorf("event %d: finish reason %v", i, c.FinishReason)
		}
		if n := min(i, 7); got.Usage["completion_tokens"] != n || got.Usage["prompt_tokens"] != 40 || got.Usage["total_tokens"] != 40+n {
			t.Errorf("event %d: usage %v", i, got.Usage)
		}
	}
}

// The engine's thread must not pay for what a token looks like.
func TestPreparingATokenDoesNotAllocate(t *testing.T) {
	for name, o := range map[string]*order{
		"chat":             {form: chatForm{}, streamed: true, alternatives: noLogprobs},
		"chat, everything": {form: chatForm{}, streamed: true, everyUsage: true, alternatives: maxAlternatives},
		"completions":      {form: textForm{}, streamed: true, everyUsage: true, alternatives: maxAlternatives},
	} {
		a := spoken(o)
		a.framing = chunked
		a.prepared = make([]byte, 0, 1<<16)
		round := func() {
			a.prepared = a.prepared[:0]
			a.renderers[0].call = 0
			for i := 1; i < 6; i++ { // neither the first nor the last, which have events of their own
				a.Prepare(plan.TokenEvent{Index: i})
			}
		}
		round()
		if n := testing.AllocsPerRun(100, round); n > 0 {
			t.Errorf("%s: %v allocations for 5 tokens", name, n)
		}
	}
}

// What is not asked for leaves no trace in an event.
func TestPlainEventsHaveNothingMore(t *testing.T) {
	a := spoken(&order{form: chatForm{}, streamed: true, alternatives: noLogprobs})
	a.Prepare(plan.TokenEvent{Index: 0})
	for _, key := range []string{"usage", "logprobs", "tool_calls"} {
		if bytes.Contains(a.prepared, []byte(key)) {
			t.Errorf("%s in %s", key, a.prepared)
		}
	}
}
