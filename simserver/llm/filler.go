package llm

import (
	"math/rand/v2"

	"llmsim-bench/simserver/plan"
)

// How often filler is punctuated: after a word, by chance, in 64ths.
const (
	commaIn64  = 4
	periodIn64 = 5
)

// filler returns n tokens of sentence-like text: words, and now and then a comma
// or a period after one. The tokens joined are exactly those n tokens to the
// regex tokenizer too. The same seed and prompt always give the same text, and
// a longer answer starts with the shorter one.
func filler(seed uint64, prompt []plan.TokenID, n int) []plan.Token {
	tokens := make([]plan.Token, n)
	random := rand.NewPCG(seed, promptHash(prompt))
	words := &openingWords
	afterWord := false // punctuation after punctuation would join it into one token
	for i := range tokens {
		bits := random.Uint64()
		chance := bits >> 32 % 64
		switch {
		case afterWord && chance < commaIn64:
			tokens[i] = comma
			words, afterWord = &innerWords, false
		case afterWord && chance < commaIn64+periodIn64:
			tokens[i] = period
			words, afterWord = &sentenceWords, false
		default:
			tokens[i] = words[bits%uint64(len(words))]
			words, afterWord = &innerWords, true
		}
	}
	return tokens
}

// promptHash is FNV-1a, 64 bits, taking an id at a time instead of a byte.
func promptHash(ids []plan.TokenID) uint64 {
	h := uint64(14695981039346656037)
	for _, id := range ids {
		h = (h ^ uint64(id)) * 1099511628211
	}
	return h
}
