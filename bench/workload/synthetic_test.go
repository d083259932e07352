package workload

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestVocabularyIsPlainAndDistinct(t *testing.T) {
	words := Vocabulary()
	if len(words) < 1000 {
		t.Errorf("%d words, want 1,000 or more", len(words))
	}
	plain := regexp.MustCompile(`^[a-z]{2,8}$`)
	seen := map[string]bool{opening: true}
	for _, w := range words {
		if !plain.MatchString(w) {
			t.Errorf("%q is not two to eight lower-case letters", w)
		}
		if seen[w] {
			t.Errorf("%q stands there twice", w)
		}
		seen[w] = true
	}
}

func TestPromptHasExactlyItsWords(t *testing.T) {
	known := map[string]bool{opening: true}
	for _, w := range Vocabulary() {
		known[w] = true
	}
	rapid.Check(t, func(t *rapid.T) {
		c := Calibration{Vocabulary: Vocabulary(), Overhead: rapid.IntRange(0, 40).Draw(t, "overhead")}
		tokens := c.Overhead + rapid.IntRange(1, 600).Draw(t, "words")
		s, err := NewSynthetic(rapid.Uint64().Draw(t, "seed"), c, Exactly(tokens, 8))
		if err != nil {
			t.Fatal(err)
		}
		i := rapid.Int64().Draw(t, "i")
		prompt := s.AppendPrompt([]byte("kept "), i)
		text, found := strings.CutPrefix(string(prompt), "kept ")
		if !found {
			t.Fatalf("prompt %q was not appended", prompt)
		}
		words := strings.Split(text, " ")
		if len(words) != tokens-c.Overhead {
			t.Fatalf("%d words, want %d", len(words), tokens-c.Overhead)
		}
		for _, w := range words {
			if !known[w] {
				t.Fatalf("%q is no word of the vocabulary", w)
			}
		}
		if again := s.AppendPrompt(nil, i); string(again) != text {
			t.Fatalf("prompt %d came out twice and differed", i)
		}
	})
}

// TestPromptsShareNoPrefix holds that a prefix cache cannot help: no two of many
// prompts share a block of 16 words, whatever their index and seed.
func TestPromptsShareNoPrefix(t *testing.T) {
	starts := make(map[string]string)
	for seed := range uint64(4) {
		s, err := NewSynthetic(seed, Uncalibrated(), Exactly(16, 8))
		if err != nil {
			t.Fatal(err)
		}
		for i := range int64(5000) {
			words := strings.Split(string(s.AppendPrompt(nil, i)), " ")
			start := strings.Join(words[:6], " ")
			if other, taken := starts[start]; taken {
				t.Fatalf("%q and %q share their first six words", other, words)
			}
			starts[start] = strings.Join(words, " ")
		}
	}
}

func TestEveryWordIsUsed(t *testing.T) {
	s, err := NewSynthetic(1, Uncalibrated(), Exactly(30_000, 8))
	if err != nil {
		t.Fatal(err)
	}
	used := make(map[string]bool)
	for w := range strings.SplitSeq(string(s.AppendPrompt(nil, 0)), " ") {
		used[w] = true
	}
	if want := len(Vocabulary()) + 1; len(used) != want {
		t.Errorf("%d words used, want %d", len(used), want)
	}
}

func TestAppendPromptAllocatesNothing(t *testing.T) {
	s, err := NewSynthetic(1, Uncalibrated(), Exactly(512, 8))
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 0, 8192)
	i := int64(0)
	if n := testing.AllocsPerRun(100, func() {
		buf = s.AppendPrompt(buf[:0], i)
		i++
	}); n != 0 {
		t.Errorf("%v allocations a prompt, want 0", n)
	}
}

func TestImpossibleWorkloadsAreRefused(t *testing.T) {
	full := Vocabulary()
	for name, c := range map[string]struct {
		cal            Calibration
		prompt, output int
		want           string
	}{
		"prompt within overhead": {Calibration{full, 9}, 9, 8, "so 10 is the least"},
		"no prompt":              {Calibration{full, 0}, 0, 8, "prompts of 0 tokens are not possible, must be 1"},
		"negative prompt":        {Calibration{full, 0}, -1, 8, "prompts of -1 tokens"},
		"no output":              {Calibration{full, 0}, 8, 0, "outputs of 0 tokens"},
		"negative overhead":      {Calibration{full, -1}, 8, 8, "overhead of -1"},
		"few words":              {Calibration{full[:127], 0}, 8, 8, "vocabulary of 127 words"},
		"no words":               {Calibration{}, 8, 8, "vocabulary of 0 words"},
	} {
		_, err := NewSynthetic(1, c.cal, Exactly(c.prompt, c.output))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
}

func TestVocabularyIsTheCallers(t *testing.T) {
	words := Vocabulary()
	slices.Reverse(words)
	if first := Vocabulary()[0]; first != "able" {
		t.Errorf("a caller's change reached the vocabulary: it starts with %q", first)
	}
}

func BenchmarkAppendPrompt(b *testing.B) {
	s, err := NewSynthetic(1, Uncalibrated(), Exactly(512, 8))
	if err != nil {
		b.Fatal(err)
	}
	buf := make([]byte, 0, 8192)
	for b.Loop() {
		buf = s.AppendPrompt(buf[:0], 1)
	}
}
