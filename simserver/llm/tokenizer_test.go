package llm

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestEncodeAsPython compares with testdata/tokens.json, in which Python's re
// has split a few hundred strings by the pattern the tokenizer stands for.
func TestEncodeAsPython(t *testing.T) {
	data, err := os.ReadFile("testdata/tokens.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden [][]string
	if err := json.Unmarshal(data, &golden); err != nil {
		t.Fatal(err)
	}
	if len(golden) < 300 {
		t.Fatalf("only %d strings", len(golden))
	}
	for _, want := range golden {
		text := strings.Join(want, "")
		if got := Encode(text); !slices.Equal(got, want) {
			t.Errorf("Encode(%q)\n got %q\nwant %q", text, got, want)
		}
	}
}

func TestEncodeInvalidUTF8(t *testing.T) {
	for _, tc := range []struct {
		text string
		want []string
	}{
		{"a\xffb", []string{"a", "\xff", "b"}},
		{" \xff\xfe!", []string{" \xff\xfe!"}},
		{"\xe4\xbda", []string{"\xe4\xbd", "a"}}, // an ideograph cut short
		{"'\xc5", []string{"'\xc5"}},
	} {
		if got := Encode(tc.text); !slices.Equal(got, tc.want) {
			t.Errorf("Encode(%q) = %q, want %q", tc.text, got, tc.want)
		}
	}
}

// checkLossless says what every text must hold: no token is empty, the tokens
// joined are the text, and all three functions see the same tokens.
func checkLossless(t rapid.TB, text string) {
	t.Helper()
	tokens := Encode(text)
	if slices.Contains(tokens, "") {
		t.Fatalf("Encode(%q) has an empty token: %q", text, tokens)
	}
	if joined := strings.Join(tokens, ""); joined != text {
		t.Fatalf("tokens of %q join to %q", text, joined)
	}
	if n := Count(text); n != len(tokens) {
		t.Fatalf("Count(%q) = %d, Encode has %d", text, n, len(tokens))
	}
	ids := AppendIDs(nil, text)
	if len(ids) != len(tokens) {
		t.Fatalf("AppendIDs(%q) has %d ids for %d tokens", text, len(ids), len(tokens))
	}
	for i, token := range tokens {
		if ids[i] != tokenID(token) {
			t.Fatalf("id %d of %q is not that of %q", i, text, token)
		}
	}
}

func TestLossless(t *testing.T) {
	texts := rapid.OneOf(
		rapid.String(),
		rapid.StringOf(rapid.SampledFrom([]rune("aS'lſ _1½٣ \t\n!漢・゙é"))),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
	)
	rapid.Check(t, func(t *rapid.T) { checkLossless(t, texts.Draw(t, "text")) })
}

func FuzzEncode(f *testing.F) {
	for _, seed := range []string{"", "It's 12345 o'clock\n\n  now_", "\xff 漢字・!", "'\xc5\xbf"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) { checkLossless(t, text) })
}

// TestTokenIDIsStable pins the hash to published FNV-1a values: a prefix cache
// written about in one release must mean the same in the next.
func TestTokenIDIsStable(t *testing.T) {
	if got := tokenID("foobar"); got != 0xbf9cf968 {
		t.Errorf("id of foobar is %#x, want 0xbf9cf968", got)
	}
	if got := tokenID("a"); got != 0xe40c292c {
		t.Errorf("id of a is %#x, want 0xe40c292c", got)
	}
}

func TestCountAllocatesNothing(t *testing.T) {
	text := benchmarkPrompt(512)
	if allocs := testing.AllocsPerRun(10, func() { Count(text) }); allocs != 0 {
		t.Errorf("Count allocates %v times", allocs)
	}
}

// benchmarkPrompt returns a text of n tokens.
func benchmarkPrompt(n int) string {
	sentence := []string{"The", " quick", " brown", " fox", " jumps", " over", " 13", " lazy", " dogs", "."}
	var b strings.Builder
	for i := range n {
		b.WriteString(sentence[i%len(sentence)])
	}
	return b.String()
}

func BenchmarkTokenize512(b *testing.B) {
	text := benchmarkPrompt(512)
	if n := Count(text); n != 512 {
		b.Fatalf("the prompt has %d tokens", n)
	}
	b.Run("count", func(b *testing.B) {
		for b.Loop() {
			Count(text)
		}
	})
	b.Run("ids", func(b *testing.B) {
		b.ReportAllocs()
		ids := AppendIDs(nil, text)
		for b.Loop() {
			ids = AppendIDs(ids[:0], text)
		}
	})
}
