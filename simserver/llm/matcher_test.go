package llm

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// matchNaively is what the matcher must do: try the entries one by one.
func matchNaively(entries []Match, text string) found {
	is := func(list []string, test func(text, s string) bool) bool {
		return len(list) == 0 || slices.ContainsFunc(list, func(s string) bool { return test(text, s) })
	}
	for i, e := range entries {
		if !is(e.Exact, func(a, b string) bool { return a == b }) || !is(e.StartsWith, strings.HasPrefix) || !is(e.Contains, strings.Contains) {
			continue
		}
		if len(e.Regexes) == 0 {
			return found{entry: i}
		}
		for _, re := range e.Regexes {
			if groups := re.FindStringSubmatchIndex(text); groups != nil {
				if !hasNames(re) {
					return found{entry: i}
				}
				return found{entry: i, regex: re, groups: groups}
			}
		}
	}
	return found{entry: -1}
}

func sameFound(a, b found) bool {
	return a.entry == b.entry && a.regex == b.regex && slices.Equal(a.groups, b.groups)
}

func checkMatch(t rapid.TB, entries []Match, m *matcher, text string) {
	t.Helper()
	if got, want := m.match(text), matchNaively(entries, text); !sameFound(got, want) {
		var rules strings.Builder
		for i, e := range entries {
			fmt.Fprintf(&rules, "\n%d: %+q %+q %+q %+q", i, e.Exact, e.StartsWith, e.Contains, e.Regexes)
		}
		t.Fatalf("%+q matches %+v, one by one %+v; entries:%s", text, got, want, rules.String())
	}
}

// fragments are what rules and texts are made of, so that they meet: among them
// letters whose case is odd, bytes that are not UTF-8, and pieces of each other.
var fragments = []string{
	"a", "b", "ab", "abab", "ba", "aab", "s", "k", "S", "K", "ſ", "\u212a", "é", "É", "ß", "ẞ", "Å", "\u212b", "å",
	"weather in ", "Weather", "rome", "task", "SKY", "\ufffd", "1", "22", " ", "\n", "漢", ".", "{", "ǆ", "ǅ", "σς", "Σ",
}

func drawText(t *rapid.T, extra ...string) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(slices.Concat(fragments, extra)), 0, 8).Draw(t, "text"), "")
}

// drawRegex builds an expression that compiles.
func drawRegex(t *rapid.T, depth int) string {
	if depth == 0 {
		piece := rapid.SampledFrom([]string{
			".", `\w`, `\d+`, `\s`, "[ab]", "[sk]", "[^a]", "(?:)", "^", "$", `\b`, "(?m:^)", "[éa]", "[a-z]", `\x{FFFD}`, "[\\x{FFFD}a]", "(?s:.)", "[^\\x00-\\x{10FFFF}]",
		})
		if rapid.Bool().Draw(t, "literal") {
			return regexp.QuoteMeta(rapid.SampledFrom(fragments).Draw(t, "fragment"))
		}
		return piece.Draw(t, "piece")
	}
	sub := func() string { return drawRegex(t, depth-1) }
	switch rapid.IntRange(0, 7).Draw(t, "op") {
	case 0:
		return "(?:" + sub() + ")" + rapid.SampledFrom([]string{"*", "+", "?", "{2}", "{1,3}", "{0,2}", "*?", "{2,}"}).Draw(t, "repeat")
	case 1:
		return "(?:" + sub() + "|" + sub() + ")"
	case 2:
		return "(" + sub() + ")"
	case 3:
		return "(?i:" + sub() + ")"
	default:
		return sub() + sub()
	}
}

func drawMatch(t *rapid.T) (m Match) {
	some := func(name string, list *[]string) {
		if rapid.IntRange(0, 3).Draw(t, name) == 0 {
			for range rapid.IntRange(1, 3).Draw(t, "alternatives") {
				*list = append(*list, drawText(t))
			}
		}
	}
	some("exact", &m.Exact)
	some("starts with", &m.StartsWith)
	some("contains", &m.Contains)
	if rapid.IntRange(0, 1).Draw(t, "regex") == 0 {
		for i := range rapid.IntRange(1, 3).Draw(t, "regexes") {
			expression := drawRegex(t, rapid.IntRange(0, 3).Draw(t, "depth"))
			if rapid.Bool().Draw(t, "named") {
				expression = fmt.Sprintf("(?P<g%d>%s)", i, expression)
			}
			m.Regexes = append(m.Regexes, regexp.MustCompile(expression))
		}
	}
	return m
}

// TestMatcherIsNaive: whatever the prefilter knows, the result is that of trying
// all entries in order.
func TestMatcherIsNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		entries := rapid.SliceOfN(rapid.Custom(drawMatch), 0, 8).Draw(t, "entries")
		var own []string // texts of the rules themselves
		for _, e := range entries {
			own = slices.Concat(own, e.Exact, e.StartsWith, e.Contains)
		}
		m := newMatcher(entries)
		for range 10 {
			text := drawText(t, append(own, "\xff")...)
			checkMatch(t, entries, m, text)
			checkMatch(t, entries, m, strings.ToUpper(text))
		}
	})
}

func FuzzMatcher(f *testing.F) {
	f.Add(`(?i)task|weather in (?P<city>\w+)`, "the tas", "/echo", "The TASK")
	f.Add(`[Kk]\x{FFFD}`, "", "a", "\u212a\xff")
	f.Add(`(a|b)*c{2,}$`, "ab", "", "ababcc")
	f.Fuzz(func(t *testing.T, expression, piece, start, text string) {
		re, err := regexp.Compile(expression)
		if err != nil || len(expression) > 200 {
			return
		}
		entries := []Match{
			{Contains: []string{piece}, StartsWith: []string{start}},
			{Regexes: []*regexp.Regexp{re}, Contains: []string{start, piece}},
			{Regexes: []*regexp.Regexp{re}},
			{Exact: []string{piece, start}},
			{Contains: []string{piece}},
			{StartsWith: []string{start}},
		}
		m := newMatcher(entries)
		for _, text := range []string{text, piece + text, start + text, expression, text + piece + start} {
			checkMatch(t, entries, m, text)
		}
	})
}

func TestMatchOrder(t *testing.T) {
	re := regexp.MustCompile
	entries := []Match{
		{Exact: []string{"hi", "hello"}},
		{Contains: []string{"never"}, StartsWith: []string{"/both"}},
		{Regexes: []*regexp.Regexp{re(`weather in (?P<city>\w+)`), re(`(?P<city>\w+) forecast`)}},
		{StartsWith: []string{"/echo", "/e"}},
		{Contains: []string{"Explain"}},
		{Regexes: []*regexp.Regexp{re(`^\d+$`)}},
		{Contains: []string{""}, Exact: []string{"quiet"}},
		{StartsWith: []string{""}, Regexes: []*regexp.Regexp{re("(?i)TASK")}},
	}
	m := newMatcher(entries)
	for text, want := range map[string]int{
		"hi": 0, "hello": 0, "hello!": -1, "/both never": 1, "/both": -1, "never": -1,
		"the weather in Rome": 2, "Rome forecast": 2, "/echo weather in x": 2, "/everything": 3, "/": -1,
		"please Explain": 4, "please explain": -1, "123": 5, "12a": -1, "quiet": 6, "a taſ\u212a": 7, "": -1,
	} {
		if got := m.match(text); got.entry != want {
			t.Errorf("%q matches %d, want %d", text, got.entry, want)
		}
		checkMatch(t, entries, m, text)
	}
	// A prompt of each literal, in a script whose sets are large.
	large := make([]Match, 20_000)
	for i := range large {
		large[i].Contains = []string{fmt.Sprintf("<%d>", i)}
	}
	m = newMatcher(large)
	for _, i := range []int{0, 7, 19_999} {
		if f := m.match(fmt.Sprintf("say <%d>", i)); f.entry != i {
			t.Errorf("<%d> matches %d", i, f.entry)
		}
	}
	m = newMatcher(entries)
	if f := m.match("Rome forecast"); f.regex != entries[2].Regexes[1] {
		t.Errorf("the groups are those of %v", f.regex)
	}
}

func TestRequiredLiterals(t *testing.T) {
	for expression, want := range map[string][]string{
		`weather in (?P<city>\w+)`: {"weather in "},
		`(?:foo|barn|qux)`:         {"barn", "foo", "qux"},
		`\bHello\b`:                {"hello"},
		`a.*bcd`:                   {"bcd"},
		`colou?r`:                  {"color", "colour"},
		`(?i)weather`:              {"weather"},
		`(?i)ask`:                  {"ask", "ſ", "\u212a"},
		`(?i)École`:                {"École", "école"},
		`gr[ae]y`:                  {"gray", "grey"},
		`(abc)+`:                   {"abc"},
		`(ab){3}`:                  {"ababab"},
		`(ab){2,}c`:                {"abab"},
		`x(abc)?y`:                 {"xabcy", "xy"},
		`.*`:                       nil,
		`\d+`:                      strings.Split("0123456789", ""),
		`\w+`:                      nil,
		`a|`:                       nil,
		`(abc)*`:                   nil,
		`foo|\w`:                   nil,
		`\x{FFFD}`:                 nil,
		`ab\x{FFFD}cde`:            {"cde"},
		`[`:                        nil,
		`[a\x{FFFD}]`:              nil,
		`(ab\w)?`:                  nil,
		`(ab){0,2}`:                nil,
		`(?i)ask|foo`:              {"ask", "foo", "ſ", "\u212a"},
		`(?i:sk)in`:                {"skin", "ſ", "\u212a"},
		`(?i:s)(?i:k)`:             {"sk", "ſ", "\u212a"},
		strings.Repeat("x", 100):   {strings.Repeat("x", maxLiteral)},
	} {
		if want != nil {
			want = slices.Clone(want)
			for i := range want {
				want[i] = lowerASCII(want[i])
			}
			slices.Sort(want)
		}
		if got := requiredLiterals(expression); !slices.Equal(got, want) {
			t.Errorf("%s needs %q, want %q", expression, got, want)
		}
	}
}

// TestMatchHoldsARequiredLiteral is what the prefilter rests on.
func TestMatchHoldsARequiredLiteral(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for range 10 {
			re := regexp.MustCompile(drawRegex(t, rapid.IntRange(0, 4).Draw(t, "depth")))
			need := requiredLiterals(re.String())
			for range 5 {
				text := drawText(t, "\xff")
				holds := slices.ContainsFunc(need, func(l string) bool { return strings.Contains(lowerASCII(text), l) })
				if need != nil && !holds && re.MatchString(text) {
					t.Fatalf("%s matches %+q, which holds none of %+q", re, text, need)
				}
			}
		}
	})
}

// TestAutomatonFindsAll compares with looking for each literal on its own, also
// where most states have no row.
func TestAutomatonFindsAll(t *testing.T) {
	literal := rapid.OneOf(rapid.StringMatching(`[abcs\x{e9}]{1,6}`), rapid.StringMatching(`[ab]{2,9}`))
	rapid.Check(t, func(t *rapid.T) {
		literals := distinct(rapid.SliceOfN(literal, 0, 40).Draw(t, "literals"))
		text := rapid.StringMatching(`([abcsABCS\x{e9}.]|[ab]{3,9}){0,40}`).Draw(t, "text")
		rows := rapid.Uint32Range(1, 200).Draw(t, "rows")
		a := newAutomatonOf(literals, rows)
		seen := newBitset(len(literals))
		a.find(text, seen)
		for i, l := range literals {
			if want := strings.Contains(lowerASCII(text), l); seen.has(int32(i)) != want {
				t.Fatalf("%q in %q: %v, want %v; literals %q", l, text, !want, want, literals)
			}
		}
	})
}

func TestMatchAllocatesNothing(t *testing.T) {
	m, text := newMatcher(benchmarkRules()), benchmarkPrompt(512)
	if allocs := testing.AllocsPerRun(100, func() { m.match(text) }); allocs != 0 {
		t.Errorf("match allocates %v times", allocs)
	}
}

func TestMatcherIsConcurrent(t *testing.T) {
	var entries []Match
	for i, e := range benchmarkRules() {
		if i%10 == 7 {
			entries = append(entries, e)
		}
	}
	m := newMatcher(entries)
	for i := range 4 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			for n := range 100 {
				checkMatch(t, entries, m, fmt.Sprintf("explain word%d and ask me about topic%d", 3*n+i+100, 2*n))
			}
		})
	}
}

// benchmarkRules are 500 entries, 300 of them regexes of several kinds, none of
// which the benchmark's prompt matches.
func benchmarkRules() (entries []Match) {
	for i := range 500 {
		var m Match
		switch {
		case i < 100:
			m.Regexes = []*regexp.Regexp{regexp.MustCompile(fmt.Sprintf(`weather in city%d on (?P<day>\w+)`, i))}
		case i < 200:
			m.Regexes = []*regexp.Regexp{regexp.MustCompile(fmt.Sprintf(`(?i)\b(?:tell|ask) me about topic%d\b`, i))}
		case i < 300:
			m.Regexes = []*regexp.Regexp{regexp.MustCompile(fmt.Sprintf(`(?:convert|translate) (?P<n>\d+) .* unit%d`, i))}
		case i < 400:
			m.Contains = []string{fmt.Sprintf("explain word%d", i), fmt.Sprintf("describe word%d", i)}
		case i < 450:
			m.Exact = []string{fmt.Sprintf("hello %d", i)}
		default:
			m.StartsWith = []string{fmt.Sprintf("/command%d", i)}
		}
		entries = append(entries, m)
	}
	return entries
}

// benchmarkText is a prompt of n tokens of filler, in which pieces of rules occur.
func benchmarkText(n int) string {
	words := newVocabulary(regexTokenizer{})
	var b strings.Builder
	for _, token := range words.text(1, 2, words.opening, n) {
		b.WriteString(token.Text)
	}
	return b.String()
}

func BenchmarkMatch(b *testing.B) {
	entries := benchmarkRules()
	m := newMatcher(entries)
	long := benchmarkText(400_000)[:1<<20]
	near := strings.Repeat("tell me about topic; weather in city, ask me about topi convert 12 unit29. ", 1<<20/75+1)[:1<<20]
	for _, c := range []struct{ name, text string }{
		{"512-tokens", benchmarkText(512)},
		{"5000-tokens", benchmarkText(5000)},
		{"50000-tokens", benchmarkText(50_000)},
		{"1-MiB", long},
		{"1-MiB-near-misses", near},
	} {
		if f := m.match(c.text); f.entry != -1 {
			b.Fatalf("%s matches entry %d", c.name, f.entry)
		}
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.text)))
			b.ReportAllocs()
			for b.Loop() {
				m.match(c.text)
			}
		})
	}
	b.Run("512-tokens-one-regex-runs", func(b *testing.B) {
		text := benchmarkText(256) + " weather in city7 on Monday" + benchmarkText(256)
		b.ReportAllocs()
		for b.Loop() {
			m.match(text)
		}
	})
	b.Run("512-tokens-one-by-one", func(b *testing.B) {
		text := benchmarkText(512)
		for b.Loop() {
			matchNaively(entries, text)
		}
	})
	b.Run("compile", func(b *testing.B) {
		for b.Loop() {
			newMatcher(entries)
		}
	})
}

// BenchmarkMatchAllRegexes is the worst prompt for these entries: 1 MiB that has
// what each regex needs, and matches none.
func BenchmarkMatchAllRegexes(b *testing.B) {
	m := newMatcher(benchmarkRules())
	var piece strings.Builder
	for i := range 300 {
		fmt.Fprintf(&piece, "weather in city%d on! ask  me about topic%d unit%d. ", i, i, i)
	}
	text := strings.Repeat(piece.String(), 1<<20/piece.Len()+1)[:1<<20]
	if f := m.match(text); f.entry != -1 {
		b.Fatalf("matches entry %d", f.entry)
	}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		m.match(text)
	}
}
