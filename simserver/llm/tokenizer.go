package llm

import (
	"unicode/utf8"

	"llmsim-bench/simserver/plan"
)

// The regex tokenizer splits text as this expression does, in the semantics of
// Python's re (IGNORECASE, VERBOSE), with CJK standing for the ranges of isCJK:
//
//	  '(?:[sdmt]|ll|ve|re)     # contractions
//	| [ ]?[CJK]                # one character a token
//	| [ ]?(?:(?![CJK])[^\W\d_])+  # words
//	| [ ]?\d{1,3}              # numbers, in groups of up to three digits
//	| [ ]?[^\s\w]+             # runs of punctuation and symbols
//	| \s+(?!\S)                # white space, leaving the last to start the next token
//	| \s+                      # white space left over
//	| [\s\S]                   # anything else: underscores
//
// It is written out as a scanner that looks at each character at most twice,
// since Go's regexp has no lookahead. Every byte is in exactly one token, so the
// tokens joined are the text, for any input; a byte that is not valid UTF-8
// counts as a symbol.

// maxDigits is how many digits one token holds at most.
const maxDigits = 3

// Encode splits text into tokens.
func Encode(text string) []string {
	var tokens []string
	for start := 0; start < len(text); {
		end := tokenEnd(text, start)
		tokens = append(tokens, text[start:end])
		start = end
	}
	return tokens
}

// Count returns how many tokens text has. It allocates nothing.
func Count(text string) int {
	n := 0
	for start := 0; start < len(text); n++ {
		start = tokenEnd(text, start)
	}
	return n
}

// AppendIDs appends the ids of text's tokens to dst. Equal tokens have equal
// ids, in every process and release.
func AppendIDs(dst []plan.TokenID, text string) []plan.TokenID {
	for start := 0; start < len(text); {
		end := tokenEnd(text, start)
		dst = append(dst, tokenID(text[start:end]))
		start = end
	}
	return dst
}

// tokenID is the 32-bit FNV-1a hash of a token's bytes.
func tokenID(token string) plan.TokenID {
	h := uint32(2166136261)
	for i := 0; i < len(token); i++ {
		h = (h ^ uint32(token[i])) * 16777619
	}
	return plan.TokenID(h)
}

// tokenEnd returns where the token that starts at start ends.
func tokenEnd(text string, start int) int {
	if n := contraction(text[start:]); n > 0 {
		return start + n
	}
	// A plain space belongs to the token after it, where that is of a kind
	// that takes one.
	body := start
	if text[start] == ' ' {
		body++
	}
	if body < len(text) {
		switch kind, size := kindAt(text, body); kind {
		case cjk, cjkSymbol:
			return body + size
		case letter:
			return runEnd(text, body+size, letter, letter)
		case digit:
			return digitsEnd(text, body+size)
		case symbol:
			return runEnd(text, body+size, symbol, cjkSymbol)
		case underscore:
			if body == start {
				return start + size
			}
		}
	}
	return spaceEnd(text, start)
}

// contraction returns the length of the contraction that s starts with, or 0.
func contraction(s string) int {
	if len(s) < 2 || s[0] != '\'' {
		return 0
	}
	const lower = 'a' - 'A' // the bit that tells ASCII's cases apart
	switch s[1] | lower {
	case 's', 'd', 'm', 't':
		return 2
	}
	if len(s) < 3 {
		return 0
	}
	if s[1:3] == "ſ" { // the long s, which is an s when case is ignored
		return 3
	}
	first, second := s[1]|lower, s[2]|lower
	if first == 'l' && second == 'l' || (first == 'v' || first == 'r') && second == 'e' {
		return 3
	}
	return 0
}

// runEnd returns the end of the characters from start on that are of kind a or b.
func runEnd(text string, start int, a, b kind) int {
	for start < len(text) {
		k, size := kindAt(text, start)
		if k != a && k != b {
			break
		}
		start += size
	}
	return start
}

// digitsEnd returns the end of a number whose first digit ends at end.
func digitsEnd(text string, end int) int {
	for range maxDigits - 1 {
		if end == len(text) {
			break
		}
		k, size := kindAt(text, end)
		if k != digit {
			break
		}
		end += size
	}
	return end
}

// spaceEnd returns the end of a token of white space: the whole run at the end
// of the text or where the run is one character, else all but its last.
func spaceEnd(text string, start int) int {
	end, last := start, start
	for end < len(text) {
		k, size := kindAt(text, end)
		if k != space {
			break
		}
		last, end = end, end+size
	}
	if end == len(text) || last == start {
		return end
	}
	return last
}

// kindAt returns the kind of the character at text[i:], and its length in bytes.
func kindAt(text string, i int) (kind, int) {
	if c := text[i]; c < utf8.RuneSelf {
		return asciiKinds[c], 1
	}
	r, size := utf8.DecodeRuneInString(text[i:])
	return kindOf(r), size
}
