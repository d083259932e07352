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

// vocabulary holds the tokens of filler as one tokenizer has them, by where a word
// stands.
type vocabulary struct {
	opening       []plan.Token // starts the text
	sentence      []plan.Token // starts a sentence
	inner         []plan.Token
	comma, period plan.Token
}

// newVocabulary takes the tokens' ids from the tokenizer, to which each word and
// mark must be one token.
func newVocabulary(t Tokenizer) *vocabulary {
	tokens := func(like ...plan.Token) (own []plan.Token) {
		for _, token := range like {
			own = t.AppendTokens(own, token.Text, true)
		}
		return own
	}
	return &vocabulary{
		opening: tokens(openingWords[:]...), sentence: tokens(sentenceWords[:]...), inner: tokens(innerWords[:]...),
		comma: tokens(comma)[0], period: tokens(period)[0],
	}
}

// text returns n tokens of sentence-like text: words, and now and then a comma or
// a period after one. The tokens joined are exactly those n tokens to the
// vocabulary's tokenizer too, also after another text where first is v.sentence.
// The same seeds always give the same text, and a longer one starts with the
// shorter.
func (v *vocabulary) text(seed1, seed2 uint64, first []plan.Token, n int) []plan.Token {
	tokens := make([]plan.Token, n)
	random := rand.NewPCG(seed1, seed2)
	words := first
	afterWord := false // punctuation after punctuation would join it into one token
	for i := range tokens {
		bits := random.Uint64()
		chance := bits >> 32 % 64
		switch {
		case afterWord && chance < commaIn64:
			tokens[i] = v.comma
			words, afterWord = v.inner, false
		case afterWord && chance < commaIn64+periodIn64:
			tokens[i] = v.period
			words, afterWord = v.sentence, false
		default:
			tokens[i] = words[bits%uint64(len(words))]
			words, afterWord = v.inner, true
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
