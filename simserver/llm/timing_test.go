package llm

import (
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"llmsim-bench/simserver/plan"
)

// recorded is an answer of every part, in pieces that no tokenizer would cut.
func recorded() Body {
	return Body{
		Reasoning: plainText("I think so"), Content: plainText("Hello there, 日本"), FinishReason: "tool_calls",
		ToolCalls: []ToolCall{{ID: "call_1", Name: "f", Arguments: Template{{Text: `{"a": 1}`}}}, {Name: "g"}},
		Timing: &Timing{
			Reasoning: []Mark{{3, 10}, {10, 20}}, Content: []Mark{{1, 30}, {8, 40}, {19, 50}},
			ToolCalls: [][]Mark{{{0, 60}, {8, 70}}, {{0, 80}}}, End: 90,
		},
	}
}

func recordedGenerator(bodies ...Body) *Generator {
	return scriptedGenerator(Script{Default: bodies})
}

func TestRecordedTimes(t *testing.T) {
	c := mustGenerate(t, recordedGenerator(recorded()), ask("x", 0)).Choices[0]
	var got []any
	for i, token := range c.Tokens {
		got = append(got, token.Text, c.Offsets[i])
	}
	want := []any{
		"I", int64(10), " think", int64(20), " so", int64(20),
		"Hello", int64(40), " there", int64(50), ",", int64(50), " 日", int64(50), "本", int64(50),
		`{"`, int64(70), "a", int64(70), `":`, int64(70), " 1", int64(70), "}", int64(70),
		"", int64(80),
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if c.ToolCalls[0].ID != "call_1" || c.ToolCalls[1].ID == "" || c.FinishReason != "tool_calls" {
		t.Errorf("%+v, %s", c.ToolCalls, c.FinishReason)
	}
}

func TestRecordedTimesOfWhatIsLeftOrAdded(t *testing.T) {
	g := recordedGenerator(recorded())
	full := mustGenerate(t, g, ask("x", 0)).Choices[0]
	for n := 1; n <= len(full.Tokens); n++ {
		c := mustGenerate(t, g, ask("x", n)).Choices[0]
		if len(c.Tokens) != n || !slices.Equal(c.Offsets, full.Offsets[:n]) {
			t.Errorf("max_tokens %d: %d tokens, offsets %v", n, len(c.Tokens), c.Offsets)
		}
	}
	longer := Request{Messages: []Message{{"user", "x"}}, MinTokens: len(full.Tokens) + 2, ReasoningTokens: 5}
	c := mustGenerate(t, g, longer).Choices[0]
	want := slices.Insert(slices.Clone(full.Offsets), 8, 50, 50)
	if !slices.Equal(c.Offsets, want) {
		t.Errorf("with filler behind the content: %v, want %v", c.Offsets, want)
	}
	stopped := mustGenerate(t, g, Request{Messages: longer.Messages, Stop: []string{"there"}}).Choices[0]
	if len(stopped.Offsets) != len(stopped.Tokens) || stopped.Offsets[4] != 50 {
		t.Errorf("stopped: %v of %v", stopped.Offsets, stopped.Tokens)
	}
	mixed := Body{Reasoning: plainText("a b"), Content: plainText("c d"), Timing: &Timing{Reasoning: []Mark{{1, 10}, {3, 50}}, Content: []Mark{{1, 20}, {3, 60}}}}
	if c := mustGenerate(t, recordedGenerator(mixed), ask("x", 0)).Choices[0]; !slices.Equal(c.Offsets, []int64{10, 50, 50, 60}) {
		t.Errorf("content before the reasoning's end: %v", c.Offsets)
	}
	thoughtless := mixed
	thoughtless.Reasoning, thoughtless.Timing = Text{}, &Timing{Content: mixed.Timing.Content}
	q := ask("x", 0)
	q.ReasoningTokens = 5
	if c := mustGenerate(t, recordedGenerator(thoughtless), q).Choices[0]; !slices.Equal(c.Offsets, []int64{20, 60}) {
		t.Errorf("with reasoning asked for: %v", c.Offsets)
	}
	calls := recorded()
	calls.Reasoning, calls.Content, calls.Timing.Reasoning, calls.Timing.Content = Text{}, Text{}, nil, nil
	for name, b := range map[string]Body{"nothing said": {Timing: &Timing{End: 90}}, "calls forbidden": calls} {
		q := ask("x", 0)
		q.NoCalls = true
		if c := mustGenerate(t, recordedGenerator(b), q).Choices[0]; !slices.Equal(c.Offsets, []int64{90}) {
			t.Errorf("%s: %v", name, c.Offsets)
		}
	}
}

// A plan has one timeline or none, whatever the variants of its choices would be.
func TestRecordedChoices(t *testing.T) {
	timed := recorded()
	timed.Also = []Body{{Content: plainText("second"), Timing: &Timing{Content: []Mark{{6, 5}}}}}
	untimed := says("plain")[0]
	untimed.Also = []Body{says("also plain")[0]}
	g := recordedGenerator(timed, untimed)
	seen := map[bool]bool{}
	for seed := range int64(40) {
		q := ask("x", 0)
		q.N, q.Seed = 3, &seed
		p := mustGenerate(t, g, q)
		seen[p.Timed()] = true
		for i, c := range p.Choices {
			if (c.Offsets != nil) != p.Timed() || p.Timed() && len(c.Offsets) != len(c.Tokens) {
				t.Errorf("seed %d: choice %d has %d tokens and offsets %v", seed, i, len(c.Tokens), c.Offsets)
			}
		}
		if p.Timed() {
			got := []string{partOf(p.Choices[0], plan.Content), partOf(p.Choices[1], plan.Content), partOf(p.Choices[2], plan.Content)}
			if !slices.Equal(got, []string{"Hello there, 日本", "second", "Hello there, 日本"}) {
				t.Errorf("seed %d: %q", seed, got)
			}
		}
	}
	if !seen[true] || !seen[false] {
		t.Errorf("timed plans: %v", seen)
	}
}

// With any tokenizer and any pieces, each token is due with the piece that holds
// its last byte.
func TestRecordedTimesOfAnyText(t *testing.T) {
	for _, name := range []string{TokenizerRegex, TokenizerO200K} {
		tokenizer, err := NewTokenizer(name)
		if err != nil {
			t.Fatal(err)
		}
		rapid.Check(t, func(t *rapid.T) {
			text := rapid.StringOfN(rapid.RuneFrom([]rune("ab é日🙂,\n1")), 1, 60, -1).Draw(t, "text")
			var marks []Mark
			pieces := make([]int64, len(text)+1) // when each byte had come
			at := int64(0)
			for end := 0; end < len(text); {
				n := rapid.IntRange(1, len(text)-end).Draw(t, "size")
				at += rapid.Int64Range(0, 3).Draw(t, "gap")
				for i := end; i < end+n; i++ {
					pieces[i+1] = at
				}
				end += n
				marks = append(marks, Mark{end, at})
			}
			pieces[0] = pieces[1]
			c := plan.Choice{Tokens: tokenizer.AppendTokens(nil, text, false)}
			said := 0
			for i, offset := range (&Timing{Content: marks}).offsets(&c) {
				if said += len(c.Tokens[i].Text); offset != pieces[said] {
					t.Fatalf("token %d, which ends at byte %d, is due at %d, want %d", i, said, offset, pieces[said])
				}
			}
		})
	}
}
