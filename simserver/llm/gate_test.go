package llm

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"llmsim-bench/simserver/plan"
)

// slowTokenizer takes a second a text, and knows how many it had at once.
type slowTokenizer struct {
	regexTokenizer
	now, most atomic.Int32
}

func (s *slowTokenizer) AppendIDs(dst []plan.TokenID, text string) []plan.TokenID {
	s.most.Store(max(s.most.Load(), s.now.Add(1)))
	time.Sleep(time.Second)
	s.now.Add(-1)
	return append(dst, 1)
}

var longText = strings.Repeat("a ", shortText/2) + "b"

// TestShortTextsDoNotWait: with all slots taken short texts are worked on, and long
// ones wait.
func TestShortTextsDoNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(2)
		g.enter()
		g.enter()
		m := newMatcher([]Match{{Contains: []string{"b"}, Regexes: []*regexp.Regexp{regexp.MustCompile("x"), regexp.MustCompile("b$")}}})
		m.gate = g
		tokens := gatedTokenizer{regexTokenizer{}, g, false}
		if m.match("ab").entry != 0 || m.match(longText[1:]).entry != 0 || len(tokens.AppendIDs(nil, longText[1:])) == 0 {
			t.Error("a short text is not worked on")
		}
		var ended atomic.Int32
		for _, work := range []func(){
			func() { m.match(longText) },
			func() { tokens.Count(longText) },
			func() { tokens.AppendIDs(nil, longText) },
			func() { tokens.AppendTokens(nil, longText, false) },
		} {
			go func() {
				work()
				ended.Add(1)
			}()
		}
		if synctest.Wait(); ended.Load() != 0 {
			t.Errorf("%d of the long texts did not wait", ended.Load())
		}
		g.end(true)
		if synctest.Wait(); ended.Load() != 4 || len(g) != 1 {
			t.Errorf("%d of 4 long texts were worked on after that, %d slots are taken, want 1", ended.Load(), len(g))
		}
	})
}

// TestLongWorkIsBounded: of many texts as many are worked on at once as the gate lets.
func TestLongWorkIsBounded(t *testing.T) {
	for _, n := range []int{-1, 1, 3} {
		synctest.Test(t, func(t *testing.T) {
			slow := &slowTokenizer{}
			tokens := gatedTokenizer{slow, newGate(n), false}
			start := time.Now()
			for range 12 {
				go tokens.AppendIDs(nil, longText)
			}
			time.Sleep(time.Hour)
			if got, want := int(slow.most.Load()), max(1, n); got != want {
				t.Errorf("a gate of %d let %d at once, want %d", n, got, want)
			}
			slow.most.Store(0)
			for range 12 {
				go tokens.AppendIDs(nil, "short")
			}
			synctest.Wait()
			if slow.most.Load() != 12 || time.Since(start) != time.Hour {
				t.Errorf("%d of 12 short texts at once", slow.most.Load())
			}
			time.Sleep(time.Minute)
		})
	}
}

// TestMatchingPausesBetweenRegexes: what waits in line has its turn before the next
// regex of an entry, and before the next entry.
func TestMatchingPausesBetweenRegexes(t *testing.T) {
	log, paused := "", 0
	r := newRule(Match{Regexes: []*regexp.Regexp{regexp.MustCompile("x?y"), regexp.MustCompile("x?z"), regexp.MustCompile("[0-2]")}},
		&literalNumbers{numbers: make(map[string]int32)})
	for i := range r.regexes {
		r.regexes[i].literals = nil
	}
	if _, ok := r.match(longText, nil, func() { paused++ }); ok || paused != 2 {
		t.Errorf("3 regexes, %d pauses; matches: %v", paused, ok)
	}
	synctest.Test(t, func(t *testing.T) {
		g := newGate(1)
		m := newMatcher([]Match{{Regexes: []*regexp.Regexp{regexp.MustCompile("[^a b]")}}})
		m.gate = g
		g.enter()
		go func() {
			m.match(longText)
			log += "matched "
		}()
		synctest.Wait()
		go func() {
			g.enter()
			log += "other "
			g.end(true)
		}()
		synctest.Wait()
		g.end(true)
		if synctest.Wait(); log != "other matched " {
			t.Errorf("order: %s", log)
		}
	})
}

// TestSchemasGoThroughTheGate: with the gate of all taken, compiling one and making
// a value wait.
func TestSchemasGoThroughTheGate(t *testing.T) {
	s, err := CompileSchema([]byte(`{"type": "integer"}`))
	if err != nil {
		t.Fatal(err)
	}
	before := longWork
	defer func() { longWork = before }()
	synctest.Test(t, func(t *testing.T) {
		longWork = newGate(1)
		g := NewGenerator(Options{ContextLength: 1000})
		longWork.enter()
		var ended atomic.Int32
		go func() {
			_, _ = CompileSchema([]byte(`{}`))
			ended.Add(1)
		}()
		go func() {
			_, _ = g.Generate(Request{Schema: s, N: 2})
			ended.Add(1)
		}()
		go func() {
			_, _ = g.Generate(Request{Calls: []Tool{{Name: "f", Parameters: s}}})
			ended.Add(1)
		}()
		if synctest.Wait(); ended.Load() != 0 {
			t.Error("work on a schema does not wait")
		}
		longWork.end(true)
		if synctest.Wait(); ended.Load() != 3 || len(longWork) != 0 {
			t.Errorf("%d of 3 ended, %d slots taken", ended.Load(), len(longWork))
		}
	})
}

// TestSplitCharacters: an answer's tokens have their own bytes where that is asked.
func TestSplitCharacters(t *testing.T) {
	text := "a 👩‍🚀 🧿"
	for _, split := range []bool{false, true} {
		tokenizer := mustTokenizer(t, TokenizerO200K)
		book := &ResponseBook{}
		book.Set(NewResponses(Script{Default: []Body{{Content: Text{Template: Template{{Text: text}}}}}}))
		p := mustGenerate(t, NewGenerator(Options{ContextLength: 1000, Tokenizer: tokenizer, Responses: book, SplitCharacters: split}), Request{})
		want := tokenizer.AppendTokens(nil, text, split)
		if got := p.Choices[0].Tokens; !reflect.DeepEqual(got, want) {
			t.Errorf("split %v: %+v, want %+v", split, got, want)
		}
		if textOf(p.Choices[0]) != text {
			t.Errorf("split %v: the text is %q", split, textOf(p.Choices[0]))
		}
		whole := !slices.ContainsFunc(want, func(token plan.Token) bool { return !utf8.ValidString(token.Text) })
		if whole == split {
			t.Errorf("split %v: the tokens are whole characters: %v", split, whole)
		}
	}
}
