package llm

import "llmsim-bench/simserver/plan"

// wordList is what filler is made of: plain words of letters only, each one
// token of the regex tokenizer. Their number is a power of two.
var wordList = [...]string{
	"a", "about", "above", "across", "after", "again", "all", "along",
	"also", "always", "an", "and", "any", "around", "as", "at",
	"back", "because", "before", "below", "between", "both", "bright", "but",
	"by", "can", "change", "clear", "close", "come", "could", "day",
	"deep", "did", "down", "each", "early", "even", "every", "far",
	"few", "find", "first", "for", "found", "from", "full", "give",
	"go", "good", "great", "green", "half", "hand", "high", "hold",
	"home", "hour", "house", "how", "if", "in", "into", "is",
	"it", "just", "keep", "kind", "know", "land", "large", "last",
	"late", "leave", "left", "less", "light", "like", "line", "little",
	"long", "look", "made", "make", "many", "may", "mean", "more",
	"most", "move", "much", "near", "never", "new", "next", "night",
	"no", "now", "of", "often", "old", "on", "one", "only",
	"open", "or", "other", "our", "out", "over", "part", "place",
	"plain", "point", "quite", "rain", "river", "road", "round", "same",
	"see", "small", "some", "stone", "such", "than", "that", "water",
}

// The tokens of filler, by where a word stands. Choosing from ready-made tokens
// costs neither a hash nor a string.
var (
	openingWords  = wordTokens(capital)                                           // starts the text
	sentenceWords = wordTokens(func(w string) string { return " " + capital(w) }) // starts a sentence
	innerWords    = wordTokens(func(w string) string { return " " + w })
	comma         = newToken(",")
	period        = newToken(".")
)

func wordTokens(shape func(string) string) (tokens [len(wordList)]plan.Token) {
	for i, w := range wordList {
		tokens[i] = newToken(shape(w))
	}
	return tokens
}

func newToken(text string) plan.Token { return plan.Token{ID: tokenID(text), Text: text} }

// capital returns a word of ASCII letters with its first letter in upper case.
func capital(w string) string { return string(w[0]-'a'+'A') + w[1:] }
