package llm

import (
	"math"

	"llmsim-bench/simserver/plan"
)

// MostAlternatives is how many AppendAlternatives can tell.
const MostAlternatives = 20

// Alternative is a token that could stand in a place, and the natural logarithm of
// its probability there.
type Alternative struct {
	Text    string
	Logprob float64
}

// AppendAlternatives appends the n likeliest tokens for a token's place in its
// answer, the likeliest first, and that is the token itself; it is there for n of 0
// too. They are made up, always the same, and their probabilities sum to less than 1.
func AppendAlternatives(dst []Alternative, token plan.Token, place, n int) []Alternative {
	drawn := digest(uint64(token.ID)<<32 ^ uint64(place)).draw(0)
	likely := 0.5 + float64(drawn%4096)/4096*0.49
	dst = append(dst, Alternative{token.Text, math.Log(likely)})
	rest := 1 - likely
	for i, at := 1, drawn>>32; i < min(n, MostAlternatives); at++ {
		word := innerWords[at%uint64(len(innerWords))].Text
		if word == token.Text {
			continue
		}
		rest /= 2
		dst = append(dst, Alternative{word, math.Log(rest)})
		i++
	}
	return dst
}
