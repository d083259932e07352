package workload

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func shaped(t testing.TB, seed uint64, overhead int, shape Shape) *Synthetic {
	t.Helper()
	s, err := NewSynthetic(seed, Calibration{Vocabulary(), overhead}, shape)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func drawShape(t *rapid.T, overhead int) Shape {
	least := overhead + rapid.IntRange(1, 50).Draw(t, "least")
	s := Shape{
		Prompt: Lengths{least, least + rapid.IntRange(0, 300).Draw(t, "spread")},
		Output: Lengths{1, rapid.IntRange(1, 300).Draw(t, "output")},
	}
	s.SharedPrefix = rapid.IntRange(0, least-overhead).Draw(t, "prefix")
	if s.SharedPrefix > 1 {
		s.Groups = rapid.IntRange(0, 5).Draw(t, "groups")
	}
	return s
}

func TestShapedPromptsKeepTheirLength(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		overhead := rapid.IntRange(0, 40).Draw(t, "overhead")
		shape := drawShape(t, overhead)
		s, err := NewSynthetic(rapid.Uint64().Draw(t, "seed"), Calibration{Vocabulary(), overhead}, shape)
		if err != nil {
			t.Fatal(err)
		}
		i := rapid.Int64().Draw(t, "i")
		prompt, told, output := s.AppendPrompt(nil, i), s.PromptTokens(i), s.OutputTokens(i)
		if n := tokens(prompt, overhead); n != told || n < shape.Prompt.Min || n > shape.Prompt.Max {
			t.Fatalf("prompt %d has %d tokens and is said to have %d, of %v", i, n, told, shape.Prompt)
		}
		if output < shape.Output.Min || output > shape.Output.Max {
			t.Fatalf("request %d asks for %d tokens, of %v", i, output, shape.Output)
		}
		s.AppendPrompt(nil, i+1) // what is asked in between changes nothing
		if again := s.AppendPrompt(nil, i); string(again) != string(prompt) || s.PromptTokens(i) != told || s.OutputTokens(i) != output {
			t.Fatalf("request %d came out twice and differed", i)
		}
	})
}

// TestLengthsAreUniform is a chi-square test at the 0.1 % level, where the
// statistic of 15 degrees of freedom is at most 37.7. Prompts and outputs of one
// range are drawn apart.
func TestLengthsAreUniform(t *testing.T) {
	const n, values = 16_000, 16
	l := Lengths{100, 100 + values - 1}
	s := shaped(t, 1, 0, Shape{Prompt: l, Output: l})
	var prompts, outputs [values]float64
	same := 0.0
	for i := range int64(n) {
		prompts[s.PromptTokens(i)-l.Min]++
		outputs[s.OutputTokens(i)-l.Min]++
		if s.PromptTokens(i) == s.OutputTokens(i) {
			same++
		}
	}
	for what, counts := range map[string][values]float64{"prompts": prompts, "outputs": outputs} {
		chi2 := 0.0
		for _, c := range counts {
			chi2 += (c - n/values) * (c - n/values) / (n / values)
		}
		if chi2 > 37.7 {
			t.Errorf("%s: the lengths are not alike likely: %v", what, counts)
		}
	}
	if math.Abs(same-n/values) > 3.29*math.Sqrt(n/values) {
		t.Errorf("%v of %d requests have a prompt as long as the output, want about %d", same, n, n/values)
	}
}

// TestSharedPrefixIsSharedExactly: all prompts share the prefix, and not more than
// a few words past it.
func TestSharedPrefixIsSharedExactly(t *testing.T) {
	for _, prefix := range []int{0, 1, 2, 16, 100} {
		s := shaped(t, 1, 9, Shape{Prompt: Lengths{130, 140}, Output: Fixed(1), SharedPrefix: prefix})
		first := s.AppendPrompt(nil, 0)
		prompts := [][]byte{}
		least := math.MaxInt
		for i := range int64(10_000) {
			prompts = append(prompts, s.AppendPrompt(nil, i+1))
			least = min(least, sharedWords(first, prompts[i]))
		}
		want := max(prefix, 1) // all start with the same word anyway
		if least != want {
			t.Errorf("prefix %d: all prompts share %d words, want %d", prefix, least, want)
		}
		if longest := longestShared(prompts); longest > want+byChance {
			t.Errorf("prefix %d: two prompts share %d words", prefix, longest)
		}
	}
}

func TestWholePromptsCanBeShared(t *testing.T) {
	s := shaped(t, 1, 4, Shape{Prompt: Fixed(20), Output: Fixed(1), SharedPrefix: 16})
	if one, other := s.AppendPrompt(nil, 1), s.AppendPrompt(nil, 2); string(one) != string(other) {
		t.Errorf("prompts differ: %q and %q", one, other)
	}
}

// TestGroupsShareAmongThemselves: two prompts share either a group's prefix or
// nothing, and all groups are about the same size.
func TestGroupsShareAmongThemselves(t *testing.T) {
	const groups, prefix, n = 4, 32, 4000
	s := shaped(t, 1, 0, Shape{Prompt: Fixed(64), Output: Fixed(1), SharedPrefix: prefix, Groups: groups})
	members := map[string]float64{}
	var starts [][]byte
	for i := range int64(n) {
		start := strings.Join(strings.Split(string(s.AppendPrompt(nil, i)), " ")[:prefix], " ")
		if members[start] == 0 {
			starts = append(starts, []byte(start))
		}
		members[start]++
	}
	if len(members) != groups {
		t.Fatalf("%d prefixes, want %d", len(members), groups)
	}
	if longest := longestShared(starts); longest > 1+byChance {
		t.Errorf("two groups share %d words", longest)
	}
	for start, m := range members {
		if math.Abs(m-n/groups) > 4*math.Sqrt(n/groups) {
			t.Errorf("group %.20q… has %v of %d prompts, want about %d", start, m, n, n/groups)
		}
	}
}

// TestFirstPromptStays pins a text: a seed in a published result must mean the
// same prompts with every later version.
func TestFirstPromptStays(t *testing.T) {
	plain, err := NewSynthetic(1, Uncalibrated(), Exactly(6, 8))
	if err != nil {
		t.Fatal(err)
	}
	s := shaped(t, 1, 0, Shape{Prompt: Lengths{6, 12}, Output: Lengths{1, 100}, SharedPrefix: 3, Groups: 2})
	for _, c := range []struct {
		s    *Synthetic
		want string
	}{
		{plain, "the contest thread small submit pen"},
		{s, "the perform spin contest thread small submit pen"},
	} {
		if got := string(c.s.AppendPrompt(nil, 0)); got != c.want {
			t.Errorf("prompt 0 of seed 1 is %q, want %q", got, c.want)
		}
	}
	if got := s.OutputTokens(0); got != 48 {
		t.Errorf("request 0 of seed 1 asks for %d tokens, want %d", got, 48)
	}
}

func TestShapedPromptsAllocateNothing(t *testing.T) {
	s := shaped(t, 1, 0, Shape{Prompt: Lengths{200, 600}, Output: Fixed(1), SharedPrefix: 100, Groups: 3})
	allocatesNothing(t, s.AppendPrompt)
}

func TestImpossibleShapesAreRefused(t *testing.T) {
	ok := Lengths{10, 20}
	for _, c := range []struct {
		shape Shape
		want  string
	}{
		{Shape{}, "prompts of 0 tokens are not possible"},
		{Shape{Prompt: ok}, "outputs of 0 tokens are not possible"},
		{Shape{Prompt: Lengths{20, 10}, Output: ok}, "prompts of 20..10 tokens"},
		{Shape{Prompt: ok, Output: Lengths{1, MaxTokens + 1}}, "must be 1 to 16777216"},
		{Shape{Prompt: Lengths{9, 20}, Output: ok}, "prompts of 9..20 tokens are not possible: the server adds 9 of its own, so 10 is the least"},
		{Shape{Prompt: ok, Output: ok, SharedPrefix: 2}, "so 1 is the most"},
		{Shape{Prompt: ok, Output: ok, SharedPrefix: 11}, "must be 0 to 10"},
		{Shape{Prompt: ok, Output: ok, SharedPrefix: -1}, "a shared prefix of -1"},
		{Shape{Prompt: ok, Output: ok, Groups: -1}, "-1 groups"},
		{Shape{Prompt: ok, Output: ok, SharedPrefix: 1, Groups: 2}, "2 groups are not possible with a shared prefix of 1"},
	} {
		if _, err := NewSynthetic(1, Calibration{Vocabulary(), 9}, c.shape); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want one with %q", c.shape, err, c.want)
		}
	}
}

func TestParseLengths(t *testing.T) {
	for text, want := range map[string]Lengths{"512": Fixed(512), "256..1024": {256, 1024}, " 1 .. 2 ": {1, 2}, "7..7": Fixed(7)} {
		if got, err := ParseLengths(text); err != nil || got != want {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"": `"" is no whole number`, "x": `"x" is no whole number`, "1.5": `"1.5" is no`, "1..": `"" is no`, "..5": `"" is no`, "1..2..3": `"2..3" is no`,
		"0": "0 tokens are not possible, must be 1 to 16777216", "5..4": "must not be the larger one", "1..99999999": "must be 1 to", "99999999999999999999": "is no whole number",
	} {
		if _, err := ParseLengths(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", text, err, want)
		}
	}
	if mean := (Lengths{3, 6}).Mean(); mean != 4.5 {
		t.Errorf("the mean of 3..6 is %v, want 4.5", mean)
	}
}

func FuzzParseLengths(f *testing.F) {
	for _, text := range []string{"512", "256..1024", "..", "1...2", "-1..5", " 3"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l, err := ParseLengths(text)
		if err != nil {
			return
		}
		if again, err := ParseLengths(l.String()); err != nil || again != l || l.Check() != nil {
			t.Errorf("%q: %v is read back as %v, %v", text, l, again, err)
		}
		for i := range int64(4) {
			if n := l.draw(1, i); n < l.Min || n > l.Max {
				t.Errorf("%v: drew %d", l, n)
			}
		}
	})
}
