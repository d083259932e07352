package llm

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"llmsim-bench/simserver/plan"
)

// eachTokenizer runs a test with every tokenizer.
func eachTokenizer(t *testing.T, f func(*testing.T, Tokenizer)) {
	for _, name := range []string{TokenizerRegex, TokenizerCL100K, TokenizerO200K} {
		t.Run(name, func(t *testing.T) { f(t, mustTokenizer(t, name)) })
	}
}

func mustTokenizer(t testing.TB, name string) Tokenizer {
	t.Helper()
	tokenizer, err := NewTokenizer(name)
	if err != nil {
		t.Fatal(err)
	}
	return tokenizer
}

func TestNewTokenizerNamesWhatIsKnown(t *testing.T) {
	const want = `tokenizer "gpt2" is not known, must be regex, cl100k or o200k`
	if tokenizer, err := NewTokenizer("gpt2"); tokenizer != nil || err == nil || err.Error() != want {
		t.Errorf("got %v, %v; want %s", tokenizer, err, want)
	}
}

// TestVocabulariesAreThePublished compares with the sums that OpenAI publishes
// of the vocabularies' files: a line a token, its bytes in base 64 and its id.
func TestVocabulariesAreThePublished(t *testing.T) {
	for _, tc := range []struct {
		encoding *bpe
		size     int
		sum      string
	}{
		{cl100k(), 100_256, "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"},
		{o200k(), 199_998, "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"},
	} {
		v := tc.encoding.vocabulary
		if v.size() != tc.size {
			t.Errorf("%d tokens, want %d", v.size(), tc.size)
		}
		sum := sha256.New()
		for id := range v.size() {
			fmt.Fprintf(sum, "%s %d\n", base64.StdEncoding.EncodeToString([]byte(v.token(id))), id)
			if got, ok := v.lookup(v.token(id)); !ok || int(got) != id {
				t.Fatalf("token %d, %q, is found as %d, %v", id, v.token(id), got, ok)
			}
		}
		if got := fmt.Sprintf("%x", sum.Sum(nil)); got != tc.sum {
			t.Errorf("the sum of %d tokens is %s, want %s", tc.size, got, tc.sum)
		}
	}
}

func TestKnownTokens(t *testing.T) {
	for _, tc := range []struct {
		tokenizer, text string
		want            []plan.TokenID
	}{
		{TokenizerCL100K, "hello world", []plan.TokenID{15339, 1917}},
		{TokenizerCL100K, "tiktoken is great!", []plan.TokenID{83, 1609, 5963, 374, 2294, 0}},
		{TokenizerO200K, "hello world", []plan.TokenID{24912, 2375}},
		{TokenizerO200K, "tiktoken is great!", []plan.TokenID{83, 8251, 2488, 382, 2212, 0}},
	} {
		if got := mustTokenizer(t, tc.tokenizer).AppendIDs(nil, tc.text); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q is %v, want %v", tc.tokenizer, tc.text, got, tc.want)
		}
	}
}

// TestBPEAsTiktoken compares with testdata/bpe.json: what tiktoken, OpenAI's own
// library, makes of a few hundred texts that are awkward to cut, among them
// markers of special tokens as plain text.
func TestBPEAsTiktoken(t *testing.T) {
	data, err := os.ReadFile("testdata/bpe.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden []struct {
		Text          string
		CL100K, O200K []plan.TokenID
	}
	if err := json.Unmarshal(data, &golden); err != nil {
		t.Fatal(err)
	}
	if len(golden) < 300 {
		t.Fatalf("only %d texts", len(golden))
	}
	for _, g := range golden {
		if got := cl100k().AppendIDs(nil, g.Text); !slices.Equal(got, g.CL100K) {
			t.Errorf("cl100k: %q is\n %v, want\n %v", g.Text, got, g.CL100K)
		}
		if got := o200k().AppendIDs(nil, g.Text); !slices.Equal(got, g.O200K) {
			t.Errorf("o200k: %q is\n %v, want\n %v", g.Text, got, g.O200K)
		}
	}
}

// checkTokens says what holds for every text: the same tokens whichever way they
// are asked for, that join to the text; each text alone is valid UTF-8 where the
// whole is; and a vocabulary's raw text is that of its id.
func checkTokens(t rapid.TB, tokenizer Tokenizer, text string) {
	t.Helper()
	raw := tokenizer.AppendTokens(nil, text, true)
	whole := tokenizer.AppendTokens(nil, text, false)
	ids := tokenizer.AppendIDs(nil, text)
	if n := tokenizer.Count(text); n != len(ids) || n != len(raw) || n != len(whole) {
		t.Fatalf("%q: Count says %d, AppendIDs %d, AppendTokens %d and %d", text, n, len(ids), len(raw), len(whole))
	}
	encoding, isBPE := tokenizer.(*bpe)
	at := 0
	for i, id := range ids {
		if raw[i].ID != id || whole[i].ID != id {
			t.Fatalf("%q: token %d is %d, %d and %d", text, i, id, raw[i].ID, whole[i].ID)
		}
		if at += len(raw[i].Text); raw[i].Text == "" {
			t.Fatalf("%q: raw token %d is empty", text, i)
		}
		if isBPE && encoding.vocabulary.token(int(id)) != raw[i].Text {
			t.Fatalf("%q: token %d is %q, its id says %q", text, i, raw[i].Text, encoding.vocabulary.token(int(id)))
		}
	}
	if textOf(plan.Choice{Tokens: raw}) != text || textOf(plan.Choice{Tokens: whole}) != text {
		t.Fatalf("%q: the tokens join to %q and %q", text, textOf(plan.Choice{Tokens: raw}), textOf(plan.Choice{Tokens: whole}))
	}
	if !utf8.ValidString(text) {
		return
	}
	for i, token := range whole {
		if !utf8.ValidString(token.Text) {
			t.Fatalf("%q: token %d is %q", text, i, token.Text)
		}
	}
}

func TestTokensAreLossless(t *testing.T) {
	texts := rapid.OneOf(
		rapid.String(),
		rapid.StringOf(rapid.SampledFrom([]rune("aAS'lſ _1½٣ \t\n\r!/漢・゙é\u0301ǅ🎉"))),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
	)
	eachTokenizer(t, func(t *testing.T, tokenizer Tokenizer) {
		rapid.Check(t, func(t *rapid.T) { checkTokens(t, tokenizer, texts.Draw(t, "text")) })
	})
}

// TestLongRuns: a piece that is cut for its length loses nothing, and no cut is
// inside a character.
func TestLongRuns(t *testing.T) {
	for _, run := range []string{"a", " ", " \n", "漢", "aé漢", "ÉA", "\xff"} {
		text := "x" + strings.Repeat(run, 3*maxPiece/len(run))
		eachTokenizer(t, func(t *testing.T, tokenizer Tokenizer) { checkTokens(t, tokenizer, text) })
	}
	// Eight of these letters are a token. The first one shifts them against the
	// bound, where only the cut can end a token.
	ends := make(map[int]bool)
	end := 0
	for _, token := range o200k().AppendTokens(nil, "b"+strings.Repeat("a", 2*maxPiece), true) {
		end += len(token.Text)
		ends[end] = true
	}
	if !ends[maxPiece] || ends[maxPiece-8] {
		t.Errorf("a run was not cut after %d bytes alone", maxPiece)
	}
	if n := o200k().Count(strings.Repeat("漢", maxPiece)); n != maxPiece {
		t.Errorf("%d ideographs of a token each are %d tokens", maxPiece, n)
	}
}

// TestPieces: how the expressions cut texts, as Python's regex does. The merges
// that a wrong cut allows seldom exist, so that ids alone don't show it.
func TestPieces(t *testing.T) {
	for _, tc := range []struct{ text, cl100k, o200k string }{
		{"漢AB", "漢AB", "漢|AB"},
		{"漢ABc", "漢ABc", "漢ABc"},
		{"HTTPServer'sX", "HTTPServer|'s|X", "HTTPServer's|X"},
		{"\u0301AB", "\u0301AB", "\u0301|AB"},
		{"-\u0301AB'LL", "-\u0301|AB|'LL", "-\u0301|AB'LL"},
		{"!\r\n//\n a", "!\r\n|//\n| a", "!\r\n//\n| a"},
		{"a\n  ", "a|\n  ", "a|\n|  "},
		{"a \n\n  b", "a| \n\n| | b", "a| \n\n| | b"},
		{"a  ", "a|  ", "a|  "},
		{" 1234 ½", " |123|4| |½", " |123|4| |½"},
		{"\ta\u00a0b'ſt", "\ta|\u00a0b|'ſ|t", "\ta|\u00a0b'ſ|t"},
		{"a\xff \xe6\xbcb", "a|\xff| |\xe6|\xbc|b", "a|\xff| |\xe6|\xbc|b"},
	} {
		for _, split := range []struct {
			end  func(string, int) int
			want string
		}{{cl100kEnd, tc.cl100k}, {o200kEnd, tc.o200k}} {
			var pieces []string
			for start := 0; start < len(tc.text); {
				end := split.end(tc.text, start)
				pieces = append(pieces, tc.text[start:end])
				start = end
			}
			if got := strings.Join(pieces, "|"); got != split.want {
				t.Errorf("%q is cut %q, want %q", tc.text, got, split.want)
			}
		}
	}
}

func FuzzTokenizers(f *testing.F) {
	for _, seed := range []string{"", "It's 12345 o'clock\n\n  now_/\n/", "\xff 漢字・!\xe6\xbc", "🎉\u0301AA'LL<|endoftext|>", strings.Repeat(" \n", 100)} {
		f.Add(seed)
	}
	names := []string{TokenizerRegex, TokenizerCL100K, TokenizerO200K}
	f.Fuzz(func(t *testing.T, text string) {
		for _, name := range names {
			checkTokens(t, mustTokenizer(t, name), text)
		}
	})
}

// TestTokensInsideACharacter: the bytes of a character wait for its last token,
// and bytes that are no character wait for nothing.
func TestTokensInsideACharacter(t *testing.T) {
	for _, tc := range []struct{ text, raw, whole string }{
		{"🧿a", `" \xf0\x9f" "\xa7" "\xbf" "a"`, `" " "" "🧿" "a"`},
		{"x\xe6\xbca", `" x" "\xe6" "\xbc" "a"`, `" x" "\xe6" "\xbc" "a"`},
	} {
		for _, raw := range []bool{true, false} {
			var got []string
			for _, token := range cl100k().AppendTokens(nil, " "+tc.text, raw) {
				got = append(got, fmt.Sprintf("%q", token.Text))
			}
			want := tc.whole
			if raw {
				want = tc.raw
			}
			if joined := strings.Join(got, " "); joined != want {
				t.Errorf("%q, raw %v: %s, want %s", " "+tc.text, raw, joined, want)
			}
		}
	}
}

// TestTemplateTokensCountARoleOnce: the roles are one token each, which is what
// the default overhead counts on.
func TestTemplateTokensCountARoleOnce(t *testing.T) {
	for _, name := range []string{TokenizerCL100K, TokenizerO200K} {
		for _, role := range []string{"system", "developer", "user", "assistant", "tool"} {
			if n := mustTokenizer(t, name).Count(role); n != 1 {
				t.Errorf("%s: %q is %d tokens", name, role, n)
			}
		}
		if m, r := TemplateTokens(name); m != 4 || r != 3 {
			t.Errorf("%s: %d a message and %d a request, want 4 and 3", name, m, r)
		}
	}
	if m, r := TemplateTokens(TokenizerRegex); m != 0 || r != 0 {
		t.Errorf("regex: %d a message and %d a request, want none", m, r)
	}
}

// TestFillerIsOneTokenAWord: filler keeps its length under every tokenizer.
func TestFillerIsOneTokenAWord(t *testing.T) {
	g := NewGenerator(Options{ContextLength: 1 << 20})
	eachTokenizer(t, func(t *testing.T, tokenizer Tokenizer) {
		for _, words := range [][len(wordList)]plan.Token{openingWords, sentenceWords, innerWords} {
			for _, w := range words {
				if n := tokenizer.Count(w.Text); n != 1 {
					t.Errorf("%q is %d tokens", w.Text, n)
				}
			}
		}
		text := textOf(mustGenerate(t, g, ask("Tell me.", 5000)).Choices[0])
		if n := tokenizer.Count(text); n != 5000 {
			t.Errorf("5,000 tokens of filler are %d", n)
		}
	})
}

func TestTokenizersAllocateNothing(t *testing.T) {
	text := benchmarkPrompt(512) + " antidisestablishmentarianism über 漢字🎉"
	eachTokenizer(t, func(t *testing.T, tokenizer Tokenizer) {
		ids := tokenizer.AppendIDs(nil, text)
		tokens := tokenizer.AppendTokens(nil, text, false)
		allocs := testing.AllocsPerRun(10, func() {
			tokenizer.Count(text)
			ids = tokenizer.AppendIDs(ids[:0], text)
			tokens = tokenizer.AppendTokens(tokens[:0], text, false)
		})
		if allocs != 0 {
			t.Errorf("%v allocations", allocs)
		}
	})
}

// BenchmarkTokenizers shows, beside plain prompts, those that are slow for
// tokenizers that search back or merge by scanning.
func BenchmarkTokenizers(b *testing.B) {
	source, err := os.ReadFile("generator.go")
	if err != nil {
		b.Fatal(err)
	}
	mixed := strings.Repeat(string(source)+"Füße in 東京, 漢字 und привет мир! 🎉\n", 1+100_000/len(source))
	for _, prompt := range []struct{ name, text string }{
		{"512", benchmarkPrompt(512)},
		{"100kB", mixed[:100_000]},
		{"100kB-a", strings.Repeat("a", 100_000)},
		{"100kB-spaces", strings.Repeat(" ", 100_000)},
		{"100kB-lines", strings.Repeat(" \n", 50_000)},
		{"100kB-capitals", strings.Repeat("漢A", 25_000)},
	} {
		for _, name := range []string{TokenizerRegex, TokenizerCL100K, TokenizerO200K} {
			b.Run(prompt.name+"/"+name, func(b *testing.B) {
				tokenizer := mustTokenizer(b, name)
				b.ReportAllocs()
				b.SetBytes(int64(len(prompt.text)))
				ids := tokenizer.AppendIDs(nil, prompt.text)
				b.ReportMetric(float64(len(ids)), "tokens")
				for b.Loop() {
					ids = tokenizer.AppendIDs(ids[:0], prompt.text)
				}
			})
		}
	}
}
