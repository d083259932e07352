package llm

import (
	"fmt"

	"llmsim-bench/simserver/plan"
)

// Tokenizer cuts text into tokens. Every byte of a text is in exactly one token,
// whatever the text, and markers of special tokens such as <|endoftext|> are
// text like any other. A tokenizer is safe for concurrent use, and its time
// grows with the text by no more than n log n.
type Tokenizer interface {
	// Count returns how many tokens text has.
	Count(text string) int
	// AppendIDs appends the ids of text's tokens to dst.
	AppendIDs(dst []plan.TokenID, text string) []plan.TokenID
	// AppendTokens appends text's tokens to dst; their texts joined are text.
	//
	// A token may end inside a character. Its text then leaves that character's
	// bytes to the token that completes it, and is empty where nothing else is
	// in it, so that every token's text can be sent alone. With raw set each
	// text is instead exactly the token's own bytes.
	AppendTokens(dst []plan.Token, text string, raw bool) []plan.Token
}

// The tokenizers' names.
const (
	TokenizerRegex  = "regex"
	TokenizerCL100K = "cl100k"
	TokenizerO200K  = "o200k"
)

// NewTokenizer returns the tokenizer of a name. The first one of a name with a
// vocabulary unpacks it, in some tens of milliseconds; the others share it.
func NewTokenizer(name string) (Tokenizer, error) {
	switch name {
	case TokenizerRegex:
		return regexTokenizer{}, nil
	case TokenizerCL100K:
		return cl100k(), nil
	case TokenizerO200K:
		return o200k(), nil
	}
	return nil, fmt.Errorf("tokenizer %q is not known, must be %s, %s or %s",
		name, TokenizerRegex, TokenizerCL100K, TokenizerO200K)
}

// TemplateTokens returns what a chat template adds to a prompt of a tokenizer's
// models where nothing else is said: so many tokens a message, and so many a
// request. For the vocabularies it is what OpenAI's models count: three around
// a message and one for its role, and three that open the answer.
func TemplateTokens(name string) (perMessage, perRequest int) {
	switch name {
	case TokenizerCL100K, TokenizerO200K:
		return 4, 3
	}
	return 0, 0
}

// regexTokenizer is a Tokenizer of this package's Count and AppendIDs.
type regexTokenizer struct{}

func (regexTokenizer) Count(text string) int { return Count(text) }

func (regexTokenizer) AppendIDs(dst []plan.TokenID, text string) []plan.TokenID {
	return AppendIDs(dst, text)
}

// AppendTokens implements Tokenizer. Its tokens are of whole characters.
func (regexTokenizer) AppendTokens(dst []plan.Token, text string, _ bool) []plan.Token {
	for start := 0; start < len(text); {
		end := tokenEnd(text, start)
		dst = append(dst, newToken(text[start:end]))
		start = end
	}
	return dst
}
