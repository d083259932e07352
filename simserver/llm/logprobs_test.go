package llm

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"llmsim-bench/simserver/plan"
)

func TestAlternatives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		token := newToken(rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{" home", " a", " water"})).Draw(t, "text"))
		place, n := rapid.IntRange(0, 1000).Draw(t, "place"), rapid.IntRange(0, MostAlternatives).Draw(t, "n")
		got := AppendAlternatives(nil, token, place, n)
		if len(got) != max(n, 1) || got[0].Text != token.Text {
			t.Fatalf("%d alternatives of %d: %+v", len(got), n, got)
		}
		sum, seen := 0.0, map[string]bool{}
		for i, a := range got {
			sum += math.Exp(a.Logprob)
			if a.Logprob > 0 || seen[a.Text] || i > 0 && a.Logprob > got[i-1].Logprob {
				t.Fatalf("alternative %d of %+v", i, got)
			}
			seen[a.Text] = true
		}
		if sum >= 1 {
			t.Fatalf("the probabilities sum to %v", sum)
		}
	})
}

func TestAlternativesDoNotAllocate(t *testing.T) {
	scratch := make([]Alternative, 0, MostAlternatives)
	token := plan.Token{ID: 7, Text: " home"}
	if n := testing.AllocsPerRun(100, func() { scratch = AppendAlternatives(scratch[:0], token, 3, MostAlternatives) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
