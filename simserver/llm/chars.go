package llm

import (
	"unicode"
	"unicode/utf8"
)

// kind is what the tokenizer needs to know of a character. Each character has
// exactly one.
type kind uint8

const (
	symbol     kind = iota // [^\s\w], outside the CJK ranges
	space                  // \s
	letter                 // [^\W\d_], outside the CJK ranges
	digit                  // \d
	underscore             // _
	cjk                    // \w, inside the CJK ranges
	cjkSymbol              // [^\s\w], inside the CJK ranges, such as the katakana middle dot
)

// asciiKinds spares the characters of most prompts the Unicode tables.
var asciiKinds = func() (kinds [utf8.RuneSelf]kind) {
	for c := range kinds {
		kinds[c] = kindOf(rune(c))
	}
	return kinds
}()

// kindOf sorts a character as Python's re does for str patterns: \w is the
// categories L and N and the underscore (so superscripts and fractions are
// letters, while combining marks are symbols), \d is Nd, and \s is str.isspace,
// which knows four separators more than unicode.IsSpace.
func kindOf(r rune) kind {
	switch {
	case r == '_':
		return underscore
	case unicode.IsSpace(r), 0x1c <= r && r <= 0x1f:
		return space
	case isCJK(r):
		if unicode.IsLetter(r) || unicode.IsNumber(r) {
			return cjk
		}
		return cjkSymbol
	case unicode.IsLetter(r):
		return letter
	case unicode.IsDigit(r):
		return digit
	case unicode.IsNumber(r):
		return letter
	}
	return symbol
}

// isCJK says whether r is in one of the ranges of CJK ideographs, kana and
// Hangul syllables, of which each character is a token.
func isCJK(r rune) bool {
	switch {
	case r < 0x3005:
		return false
	case r <= 0x3007, // ideographic iteration mark, closing mark and zero
		0x3040 <= r && r <= 0x30ff,   // hiragana, katakana
		0x31f0 <= r && r <= 0x31ff,   // katakana phonetic extensions
		0x3400 <= r && r <= 0x4dbf,   // ideographs, extension A
		0x4e00 <= r && r <= 0x9fff,   // unified ideographs
		0xac00 <= r && r <= 0xd7a3,   // Hangul syllables
		0xf900 <= r && r <= 0xfaff,   // compatibility ideographs
		0xff66 <= r && r <= 0xff9d,   // halfwidth katakana
		0x1aff0 <= r && r <= 0x1b16f, // kana supplement and extensions
		0x20000 <= r && r <= 0x3ffff: // planes 2 and 3: ideographs, extension B and on
		return true
	}
	return false
}
