package llm

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"llmsim-bench/simserver/plan"
)

func plainText(s string) Text { return Text{Template: Template{{Text: s}}} }

func says(s string) []Body { return []Body{{Content: plainText(s)}} }

// scriptedGenerator answers from s.
func scriptedGenerator(s Script) *Generator {
	book := &ResponseBook{}
	book.Set(NewResponses(s))
	return NewGenerator(Options{ContextLength: 10_000, Model: "sim-1", Responses: book})
}

// partOf joins a choice's tokens of one kind.
func partOf(c plan.Choice, kind plan.Kind) string {
	var b strings.Builder
	for _, token := range c.Tokens {
		if token.Kind == kind {
			b.WriteString(token.Text)
		}
	}
	return b.String()
}

func TestScriptedAnswer(t *testing.T) {
	g := scriptedGenerator(Script{
		Entries: []Entry{
			{ID: "hi", Match: Match{Exact: []string{"hi"}}, Bodies: says("Hello there.")},
			{ID: "city", Match: Match{Regexes: []*regexp.Regexp{regexp.MustCompile(`weather in (?P<city>\w+)(?: on (?P<day>\w+))?`)}}, Bodies: []Body{
				{Content: Text{Template: Template{{Text: "Sun in "}, {Placeholder: "city"}, {Placeholder: "day"}, {Text: ", says "}, {Placeholder: "model"}, {Placeholder: "unknown"}, {Text: "."}}}},
			}},
			{ID: "echo", Match: Match{StartsWith: []string{"/echo"}}, Bodies: []Body{{Content: Text{Template: Template{{Text: "<"}, {Placeholder: "last_user_message"}, {Text: ">"}}}}}},
			{ID: "filtered", Match: Match{Exact: []string{"bad"}}, Bodies: []Body{{Content: plainText("no"), FinishReason: "content_filter"}}},
			{ID: "silent", Match: Match{Exact: []string{"shh"}}, Bodies: []Body{{}}},
		},
		Default: says("Pardon?"),
	})
	for text, want := range map[string][3]string{
		"hi":                        {"hi", "Hello there.", "stop"},
		"\x1c hi \n":                {"hi", "Hello there.", "stop"},
		"the weather in Rome?":      {"city", "Sun in Rome, says sim-1.", "stop"},
		"weather in Rome on Monday": {"city", "Sun in RomeMonday, says sim-1.", "stop"},
		" /echo  {model}\n":         {"echo", "< /echo  {model}\n>", "stop"},
		"bad":                       {"filtered", "no", "content_filter"},
		"shh":                       {"silent", "", "stop"},
		"what?":                     {"default", "Pardon?", "stop"},
		"/echo " + strings.Repeat("日本 ", 500): {"echo", "</echo " + strings.Repeat("日本 ", 500) + ">", "stop"},
	} {
		p := mustGenerate(t, g, ask(text, 0))
		c := p.Choices[0]
		if got := [3]string{p.Entry, textOf(c), c.FinishReason}; got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
		if len(p.Choices) != 1 || len(c.Tokens) == 0 || len(c.ToolCalls) != 0 || p.MaxTokens != 10_000-len(p.Prompt) {
			t.Errorf("%q: %d choices, %d tokens of %d", text, len(p.Choices), len(c.Tokens), p.MaxTokens)
		}
		if want[1] != "" && !reflect.DeepEqual(c.Tokens, regexTokenizer{}.AppendTokens(nil, want[1], false)) {
			t.Errorf("%q: tokens %v", text, c.Tokens)
		}
	}
}

func TestLastUserMessageDecides(t *testing.T) {
	g := scriptedGenerator(Script{Entries: []Entry{{ID: "hi", Match: Match{Exact: []string{"hi"}}, Bodies: says("yes")}}, Default: says("no")})
	for _, c := range []struct {
		messages []Message
		want     string
	}{
		{[]Message{{"user", "ho"}, {"user", "hi"}, {"assistant", "ho"}, {"tool", "ho"}}, "yes"},
		{[]Message{{"user", "hi"}, {"user", "ho"}}, "no"},
		{[]Message{{"system", "hi"}}, "no"},
	} {
		if p := mustGenerate(t, g, Request{Messages: c.messages}); textOf(p.Choices[0]) != c.want {
			t.Errorf("%v: %q, want %q", c.messages, textOf(p.Choices[0]), c.want)
		}
	}
}

func TestVariantDependsOnSeedEntryAndText(t *testing.T) {
	var bodies []Body
	for i := range 10 {
		bodies = append(bodies, says(fmt.Sprint("variant ", i))...)
	}
	entry := func(id, text string) Entry {
		return Entry{ID: id, Match: Match{StartsWith: []string{text}}, Bodies: bodies}
	}
	script := Script{Seed: 42, Entries: []Entry{entry("a", "a"), entry("b", "b")}, Default: bodies}
	g := scriptedGenerator(script)
	variant := func(g *Generator, text string, seed *int64) int {
		r := ask(text, 0)
		r.Seed = seed
		p := mustGenerate(t, g, r)
		if want := fmt.Sprint("variant ", p.Variant); textOf(p.Choices[0]) != want {
			t.Errorf("%q, want %q", textOf(p.Choices[0]), want)
		}
		return p.Variant
	}
	counts := make(map[int]int)
	differs := [3]bool{}
	for i := range 200 {
		text := fmt.Sprint("a", i)
		v := variant(g, text, nil)
		counts[v]++
		seed, other := int64(42), int64(43)
		if variant(g, text, &seed) != v || variant(g, "\n"+text+" ", nil) != v {
			t.Errorf("%q: the script's seed in the request, or white space, changes the variant", text)
		}
		differs[0] = differs[0] || variant(g, text, &other) != v
		renamed := script
		renamed.Entries = []Entry{entry("z", "a")}
		differs[1] = differs[1] || variant(scriptedGenerator(renamed), text, nil) != v
		moved := script
		moved.Entries = []Entry{entry("new", "x"), script.Entries[1], script.Entries[0]}
		if variant(scriptedGenerator(moved), text, nil) != v {
			t.Errorf("%q: an entry's place changes the variant", text)
		}
	}
	if !differs[0] || !differs[1] {
		t.Errorf("seed and entry id change the variant: %v", differs)
	}
	for v := range 10 {
		if counts[v] < 5 {
			t.Errorf("variant %d came %d times of 200", v, counts[v])
		}
	}
}

// TestDigestIsStable pins the choices: those of a script must survive a release.
// The draws of digest 0 are SplitMix64's published numbers for the seed 0.
func TestDigestIsStable(t *testing.T) {
	for n, want := range []uint64{0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4, 0x06c45d188009454f} {
		if got := digest(0).draw(n); got != want {
			t.Errorf("draw %d is %#x, want %#x", n, got, want)
		}
	}
	// FNV-1a of eight zero bytes, "foo", a zero byte, "bar".
	h := uint64(14695981039346656037)
	for _, c := range []byte("\x00\x00\x00\x00\x00\x00\x00\x00foo\x00bar") {
		h = (h ^ uint64(c)) * 1099511628211
	}
	if got := newDigest(0, "foo", "bar"); uint64(got) != h {
		t.Errorf("digest is %#x, want %#x", got, h)
	}
	if newDigest(1, "foo", "bar") == newDigest(256, "foo", "bar") || newDigest(0, "fo", "obar") == newDigest(0, "foo", "bar") {
		t.Error("digests of different requests are the same")
	}
}

func TestSyntheticLength(t *testing.T) {
	g := scriptedGenerator(Script{
		Entries: []Entry{{ID: "exactly", Match: Match{Exact: []string{"e"}}, Bodies: []Body{{Content: Text{MinTokens: 7, MaxTokens: 7}}}}},
		Default: []Body{{Content: Text{MinTokens: 20, MaxTokens: 40}, Reasoning: Text{MinTokens: 5, MaxTokens: 9}}},
	})
	if c := mustGenerate(t, g, ask("e", 0)).Choices[0]; len(c.Tokens) != 7 || c.FinishReason != "stop" {
		t.Errorf("%d tokens, %s; want 7, stop", len(c.Tokens), c.FinishReason)
	}
	if c := mustGenerate(t, g, ask("e", 5)).Choices[0]; len(c.Tokens) != 5 || c.FinishReason != "length" {
		t.Errorf("%d tokens, %s; want 5, length", len(c.Tokens), c.FinishReason)
	}
	lengths, least, most := make(map[int]bool), 1000, 0
	for i := range 300 {
		r := ask(fmt.Sprint("text ", i), 0)
		c := mustGenerate(t, g, r).Choices[0]
		if !reflect.DeepEqual(c, mustGenerate(t, g, r).Choices[0]) {
			t.Fatal("the same request got two answers")
		}
		thought, said := Count(partOf(c, plan.Reasoning)), Count(partOf(c, plan.Content))
		if thought < 5 || thought > 9 || said < 20 || said > 40 || thought+said != len(c.Tokens) {
			t.Fatalf("%d + %d of %d tokens", thought, said, len(c.Tokens))
		}
		lengths[said] = true
		least, most = min(least, said), max(most, said)
	}
	if least != 20 || most != 40 || len(lengths) != 21 {
		t.Errorf("lengths from %d to %d, %d different ones; want all from 20 to 40", least, most, len(lengths))
	}
}

func TestToolCalls(t *testing.T) {
	g := scriptedGenerator(Script{Default: []Body{{
		Reasoning: plainText("Let me look that up."),
		Content:   plainText("One moment."),
		ToolCalls: []ToolCall{
			{Name: "find", JSON: true, Arguments: Template{{Text: `{"q": "`}, {Placeholder: "last_user_message"}, {Text: `"}`}}},
			{Name: "raw", Arguments: Template{{Placeholder: "last_user_message"}}},
			{Name: "none"},
		},
	}}})
	p := mustGenerate(t, g, ask("say \"hi\"\n<b>", 0))
	c := p.Choices[0]
	if c.FinishReason != "tool_calls" || len(c.ToolCalls) != 3 {
		t.Fatalf("%s, %d calls", c.FinishReason, len(c.ToolCalls))
	}
	at := Count("Let me look that up.") + Count("One moment.")
	ids := make(map[string]bool)
	for i, want := range []struct{ name, arguments string }{{"find", `{"q": "say \"hi\"\n<b>"}`}, {"raw", "say \"hi\"\n<b>"}, {"none", ""}} {
		call := c.ToolCalls[i]
		var arguments string
		for _, token := range c.Tokens[call.Start:call.End] {
			if token.Kind != plan.Arguments {
				t.Errorf("token %q of %s is of kind %d", token.Text, want.name, token.Kind)
			}
			arguments += token.Text
		}
		if call.Name != want.name || arguments != want.arguments || call.Start != at || call.End == at || !strings.HasPrefix(call.ID, "call_") {
			t.Errorf("call %+v with %q, want %+v from token %d", call, arguments, want, at)
		}
		at = call.End
		ids[call.ID] = true
	}
	if at != len(c.Tokens) || len(ids) != 3 {
		t.Errorf("calls end at %d of %d tokens and have %d ids", at, len(c.Tokens), len(ids))
	}
	if kinds := c.Tokens[0].Kind; kinds != plan.Reasoning || partOf(c, plan.Reasoning) != "Let me look that up." || partOf(c, plan.Content) != "One moment." {
		t.Errorf("reasoning %q, content %q", partOf(c, plan.Reasoning), partOf(c, plan.Content))
	}
}

// TestLengthOfScriptedAnswer: at most max_tokens, at least min_tokens, exactly
// max_tokens where the end is ignored; a shorter answer is the start of a longer
// one but for tool calls, which stand at the end.
func TestLengthOfScriptedAnswer(t *testing.T) {
	const text = "Well, that depends. "
	body := Body{
		Reasoning: plainText("Hm hm hm."), Content: plainText(text),
		ToolCalls: []ToolCall{{Name: "a", Arguments: Template{{Text: `{"x": 1}`}}}, {Name: "b", Arguments: Template{{Text: "{}"}}}},
	}
	rapid.Check(t, func(t *rapid.T) {
		b := body
		if rapid.Bool().Draw(t, "no calls") {
			b.ToolCalls = nil
		}
		if rapid.Bool().Draw(t, "no reasoning") {
			b.Reasoning = Text{}
		}
		g := scriptedGenerator(Script{Default: []Body{b}})
		whole := mustGenerate(t, g, ask("x", 0)).Choices[0]
		own := len(whole.Tokens)

		most := rapid.OneOf(rapid.IntRange(0, 60), rapid.IntRange(own-1, own+1)).Draw(t, "max")
		least := rapid.IntRange(0, 60).Draw(t, "min")
		if most > 0 {
			least = min(least, most)
		}
		r := Request{Messages: []Message{{"user", "x"}}, MaxTokens: most, MinTokens: least, IgnoreEOS: rapid.Bool().Draw(t, "ignore")}
		c := mustGenerate(t, g, r).Choices[0]

		want := max(own, least)
		if most > 0 && (r.IgnoreEOS || want > most) {
			want = most
		}
		if len(c.Tokens) != want {
			t.Fatalf("%d tokens of %d, want %d", len(c.Tokens), own, want)
		}
		reason := whole.FinishReason
		if most > 0 && (own > most || own < most && want == most) {
			reason = "length"
		}
		if c.FinishReason != reason {
			t.Fatalf("ends for %s, want %s: %d tokens of %d", c.FinishReason, reason, want, own)
		}
		kept := partOf(c, plan.Content)
		if long := max(len(kept), len(text)); want >= own && (!strings.HasPrefix(kept, text) || long == 0) {
			t.Fatalf("content is %q", kept)
		}
		if want < own && !reflect.DeepEqual(c.Tokens, whole.Tokens[:want]) {
			t.Fatal("an answer cut short is not the start of the whole")
		}
		if n := Count(partOf(c, plan.Reasoning)) + Count(kept) + Count(partOf(c, plan.Arguments)); len(b.ToolCalls) == 0 && n != want {
			t.Fatalf("the texts have %d tokens, want %d", n, want)
		}
		for i, call := range c.ToolCalls {
			if call.Start >= call.End || call.End > len(c.Tokens) || i > 0 && call.Start != c.ToolCalls[i-1].End || c.Tokens[call.Start].Kind != plan.Arguments {
				t.Fatalf("calls %+v of %d tokens", c.ToolCalls, len(c.Tokens))
			}
		}
		if want >= own && len(c.ToolCalls) != len(b.ToolCalls) {
			t.Fatalf("%d calls, want %d", len(c.ToolCalls), len(b.ToolCalls))
		}
	})
}

func TestScriptedError(t *testing.T) {
	g := scriptedGenerator(Script{Default: []Body{{Error: &ErrorBody{
		Status: 503, Message: Template{{Placeholder: "model"}, {Text: " is down"}}, Type: "overloaded", Code: "busy", RetryAfter: 3,
	}}}})
	p, err := g.Generate(ask("x", 5))
	var scripted *ScriptedError
	if !errors.As(err, &scripted) || p != nil {
		t.Fatalf("plan %v, error %v", p, err)
	}
	if want := (ScriptedError{Entry: "default", Status: 503, Message: "sim-1 is down", Type: "overloaded", Code: "busy", RetryAfter: 3}); *scripted != want || err.Error() != want.Message {
		t.Errorf("error %+v, want %+v", *scripted, want)
	}
	var tooLong *ContextError
	if _, err := g.Generate(ask("x", 1_000_000)); !errors.As(err, &tooLong) {
		t.Errorf("a request past the context: %v", err)
	}
}

// TestRepeatedMessageIsBounded: a template can't blow a long message up.
func TestRepeatedMessageIsBounded(t *testing.T) {
	var repeat Template
	for range 1000 {
		repeat = append(repeat, Part{Placeholder: "last_user_message"})
	}
	message := "e" + strings.Repeat("é", 1<<19) // one token
	for name, body := range map[string]Body{
		"content":   {Content: Text{Template: repeat}},
		"arguments": {ToolCalls: []ToolCall{{Name: "f", Arguments: repeat, JSON: true}}},
	} {
		c := mustGenerate(t, scriptedGenerator(Script{Default: []Body{body}}), ask(message, 10)).Choices[0]
		text := textOf(c)
		if len(text) > leastTextBytes || c.FinishReason != "length" || strings.Trim(text, "eé") != "" {
			t.Errorf("%s: %d bytes end for %s", name, len(text), c.FinishReason)
		}
	}
}

func TestResponsesAreExchanged(t *testing.T) {
	book := &ResponseBook{}
	g := NewGenerator(Options{ContextLength: 1000, Responses: book})
	filler := mustGenerate(t, g, ask("x", 5))
	for _, want := range []string{"one", "two"} {
		book.Set(NewResponses(Script{Default: says(want)}))
		if got := textOf(mustGenerate(t, g, ask("x", 5)).Choices[0]); got != want {
			t.Errorf("answer %q, want %q", got, want)
		}
	}
	book.Set(nil)
	if got := mustGenerate(t, g, ask("x", 5)); !reflect.DeepEqual(got, filler) {
		t.Errorf("without responses: %+v, want the filler %+v", got, filler)
	}
}

// TestAnswersAreTheTokenizers: whatever the tokenizer, filler and scripted answers
// are its tokens, so that an answer sent back meets the prefix cache.
func TestAnswersAreTheTokenizers(t *testing.T) {
	book := &ResponseBook{}
	book.Set(NewResponses(Script{
		Entries: []Entry{{ID: "say", Match: Match{Exact: []string{"say"}}, Bodies: says("Antidisestablishmentarianism, über 漢字.")}},
		Default: []Body{{Content: Text{MinTokens: 300, MaxTokens: 300}}},
	}))
	for _, name := range []string{TokenizerRegex, TokenizerCL100K, TokenizerO200K} {
		tokenizer, err := NewTokenizer(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range []*ResponseBook{nil, book} {
			g := NewGenerator(Options{ContextLength: 1000, Tokenizer: tokenizer, Responses: b})
			for _, text := range []string{"say", "else"} {
				p := mustGenerate(t, g, Request{Messages: []Message{{"user", text}}, MaxTokens: 300, IgnoreEOS: true})
				want := tokenizer.AppendIDs(nil, textOf(p.Choices[0]))
				var got []plan.TokenID
				for _, token := range p.Choices[0].Tokens {
					got = append(got, token.ID)
				}
				if len(got) != 300 || !reflect.DeepEqual(got, want) {
					t.Errorf("%s: %q gets %d tokens, of which the text has %d", name, text, len(got), len(want))
				}
				if !reflect.DeepEqual(p.Prompt, tokenizer.AppendIDs(nil, text)) {
					t.Errorf("%s: the prompt is %v", name, p.Prompt)
				}
			}
		}
	}
}

func TestFillerAfterNothingStartsTheText(t *testing.T) {
	g := scriptedGenerator(Script{Default: []Body{{Reasoning: plainText("Hm.")}}})
	c := mustGenerate(t, g, Request{Messages: []Message{{"user", "x"}}, MinTokens: 10}).Choices[0]
	if text := partOf(c, plan.Content); text == "" || text[0] == ' ' || c.FinishReason != "stop" {
		t.Errorf("content %q ends for %s", text, c.FinishReason)
	}
}
