package workload

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// server counts tokens as a real one would, from a fixed overhead, one token a
// word and more for the words it does not know whole.
type server struct {
	overhead int
	extra    map[string]int // tokens beyond one
	bare     map[string]int // the same at the very start of a prompt
	asked    int
}

func (s *server) count(text string) (int, error) {
	s.asked++
	n := s.overhead
	for i, w := range strings.Split(text, " ") {
		n += 1 + s.extra[w]
		if i == 0 {
			n += s.bare[w]
		}
	}
	return n, nil
}

func TestCalibratePlainServer(t *testing.T) {
	s := &server{}
	c, err := Calibrate(Vocabulary(), 1, 512, 512, s.count)
	if err != nil {
		t.Fatal(err)
	}
	if c.Overhead != 0 || !slices.Equal(c.Vocabulary, Vocabulary()) {
		t.Errorf("overhead %d and %d words, want 0 and all %d", c.Overhead, len(c.Vocabulary), len(Vocabulary()))
	}
	if s.asked > 6 {
		t.Errorf("asked %d times, want a handful", s.asked)
	}
}

func TestCalibrateFindsOverhead(t *testing.T) {
	s := &server{overhead: 9}
	c, err := Calibrate(Vocabulary(), 1, 512, 512, s.count)
	if err != nil {
		t.Fatal(err)
	}
	if c.Overhead != 9 || len(c.Vocabulary) != len(Vocabulary()) {
		t.Errorf("overhead %d and %d words, want 9 and all %d", c.Overhead, len(c.Vocabulary), len(Vocabulary()))
	}
}

// TestCalibrateCountsTheOpeningOnce: a tokenizer that splits the opening word at
// the start of a text makes every prompt one longer, and so it is overhead.
func TestCalibrateCountsTheOpeningOnce(t *testing.T) {
	s := &server{overhead: 4, bare: map[string]int{opening: 1}}
	c, err := Calibrate(Vocabulary(), 1, 64, 512, s.count)
	if err != nil {
		t.Fatal(err)
	}
	if c.Overhead != 5 {
		t.Errorf("overhead %d, want 5", c.Overhead)
	}
}

func TestCalibrateRemovesLongWords(t *testing.T) {
	words := Vocabulary()
	rapid.Check(t, func(t *rapid.T) {
		bad := rapid.SliceOfNDistinct(rapid.SampledFrom(words), 0, 8, rapid.ID).Draw(t, "bad")
		s := &server{overhead: rapid.IntRange(0, 30).Draw(t, "overhead"), extra: map[string]int{}}
		for _, w := range bad {
			s.extra[w] = rapid.IntRange(1, 3).Draw(t, "extra")
		}
		c, err := Calibrate(words, 1, 256, 512, s.count)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range c.Vocabulary {
			if s.extra[w] > 0 {
				t.Fatalf("%q is %d tokens and was kept", w, 1+s.extra[w])
			}
		}
		if want := len(words) - len(bad); len(c.Vocabulary) != want {
			t.Fatalf("%d words kept, want %d", len(c.Vocabulary), want)
		}
		if limit := 6 + 9*len(bad); s.asked > limit {
			t.Fatalf("asked %d times for %d long words, want at most %d", s.asked, len(bad), limit)
		}
	})
}

// TestCalibrateGivesUpDoubtfulWords: with a long word in every ten the search
// stops in time and keeps enough words, none of them long.
func TestCalibrateGivesUpDoubtfulWords(t *testing.T) {
	s := &server{extra: map[string]int{}}
	for i, w := range Vocabulary() {
		if scramble(uint64(i))%10 == 0 {
			s.extra[w] = 1
		}
	}
	c, err := Calibrate(Vocabulary(), 1, 512, 512, s.count)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range c.Vocabulary {
		if s.extra[w] > 0 {
			t.Fatalf("%q is two tokens and was kept", w)
		}
	}
	if s.asked > maxProbes+1 {
		t.Errorf("asked %d times, want at most %d", s.asked, maxProbes+1)
	}
}

// TestCalibrateFitsASmallContext: what is asked is no longer than the bound.
func TestCalibrateFitsASmallContext(t *testing.T) {
	for _, c := range []struct{ overhead, prompt, bound int }{{0, 64, 64}, {9, 64, 64}, {9, 16, 64}, {40, 100, 100}, {9, 512, 512}} {
		s := &server{overhead: c.overhead, extra: map[string]int{"able": 1}}
		longest := 0
		got, err := Calibrate(Vocabulary(), 1, c.prompt, c.bound, func(text string) (int, error) {
			n, err := s.count(text)
			longest = max(longest, n-strings.Count(text, "able ")) // but for the words that are not one token
			return n, err
		})
		if err != nil || got.Overhead != c.overhead || len(got.Vocabulary) != len(Vocabulary())-1 {
			t.Errorf("%+v: overhead %d, %d words, %v", c, got.Overhead, len(got.Vocabulary), err)
		}
		if longest > c.bound {
			t.Errorf("%+v: asked for the count of %d tokens", c, longest)
		}
	}
}

func TestCalibrateRefuses(t *testing.T) {
	asked := 0
	for name, c := range map[string]struct {
		tokens int
		count  func(string) (int, error)
		want   string
	}{
		"a count that fails": {512, func(string) (int, error) { return 0, errors.New("401 unauthorized") }, "401 unauthorized"},
		"no count at all":    {512, func(string) (int, error) { return 0, nil }, "counts 0 tokens"},
		"a prompt shorter than the overhead": {
			9, (&server{overhead: 9}).count, `counts 10 for the prompt "the"`,
		},
		"a server that counts the same for all": {512, func(string) (int, error) { return 7, nil }, "counts 7 tokens for a prompt of 506 words"},
		"a character tokenizer":                 {512, func(text string) (int, error) { return len(text), nil }, "only 0 of"},
		"a count that drifts": {512, func(text string) (int, error) {
			asked++
			return strings.Count(text, " ") + 1 + asked, nil
		}, "the server counts"},
		"an overhead that grows with the prompt": {2048, func(text string) (int, error) {
			words := strings.Count(text, " ") + 1
			return words + words/1000, nil
		}, "counts 2050 tokens for a prompt that was made to have 2048"},
		"the same beside a template": {2048, func(text string) (int, error) {
			words := strings.Count(text, " ") + 1
			return 9 + words + words/1000, nil
		}, "made to have 2048 (2039 words and 9 tokens of the server's own)"},
	} {
		_, err := Calibrate(Vocabulary(), 1, c.tokens, 512, c.count)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
}
