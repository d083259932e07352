package llm

import (
	"sync"
	"unicode"
	"unicode/utf8"
)

// class is what the encodings need to know of a character: which of these sets
// it is in. One without any is punctuation or a symbol.
type class uint8

const (
	inUpper   class = 1 << iota // [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]
	inLower                     // [\p{Ll}\p{Lm}\p{Lo}\p{M}]
	inLetter                    // \p{L}
	inNumber                    // \p{N}
	inSpace                     // \s
	inNewline                   // [\r\n], which are in \s too
	inInvalid                   // not a character at all
)

// inWord is in neither [^\s\p{L}\p{N}] nor, newlines aside, in [^\r\n\p{L}\p{N}].
const inWord = inLetter | inNumber | inInvalid

// classes holds those of the basic plane, found when first needed: Unicode's own
// tables take several searches a character.
var classes = sync.OnceValue(func() *[0x10000]class {
	var c [0x10000]class
	for r := range c {
		c[r] = findClass(rune(r))
	}
	return &c
})

// asciiClasses holds those of most prompts' characters.
var asciiClasses = func() (c [utf8.RuneSelf]class) {
	for r := range c {
		c[r] = findClass(rune(r))
	}
	return c
}()

func findClass(r rune) (c class) {
	switch {
	case r == '\r', r == '\n':
		return inSpace | inNewline
	case unicode.IsSpace(r):
		return inSpace
	case unicode.IsNumber(r):
		return inNumber
	case unicode.IsMark(r):
		return inUpper | inLower
	case unicode.IsUpper(r), unicode.IsTitle(r):
		return inLetter | inUpper
	case unicode.IsLower(r):
		return inLetter | inLower
	case unicode.IsLetter(r):
		return inLetter | inUpper | inLower
	}
	return 0
}

// classAt returns the class of the character at text[i:] and its length in
// bytes; at the end of the text, inInvalid.
func classAt(text string, i int) (class, int) {
	if i >= len(text) {
		return inInvalid, 0
	}
	if c := text[i]; c < utf8.RuneSelf {
		return asciiClasses[c], 1
	}
	r, size := utf8.DecodeRuneInString(text[i:])
	switch {
	case r == utf8.RuneError && size == 1:
		return inInvalid, 1
	case r < 0x10000:
		return classes()[r], size
	}
	return findClass(r), size
}

// classEnd returns the end of the characters from start on that are in one of
// the sets.
func classEnd(text string, start int, sets class) int {
	for {
		c, size := classAt(text, start)
		if c&sets == 0 || size == 0 {
			return start
		}
		start += size
	}
}

// symbolsEnd returns the end of [^\s\p{L}\p{N}]* from start on.
func symbolsEnd(text string, start int) int {
	for {
		c, size := classAt(text, start)
		if c&(inSpace|inWord) != 0 {
			return start
		}
		start += size
	}
}
