package schema

import (
	"fmt"
	"math/rand/v2"
	"time"
	"unicode/utf8"
)

// textFacts are what a text must be.
type textFacts struct {
	minLength, maxLength int // in characters
	patterns             []*pattern
	format               string
}

// words are what texts without a pattern or format are made of.
var words = [...]string{
	"amber", "basin", "cedar", "delta", "ember", "fjord", "grove", "harbor",
	"inlet", "jasper", "kettle", "lantern", "meadow", "north", "orchard", "pebble",
	"quarry", "river", "stone", "timber", "upland", "valley", "willow", "yarrow",
}

// shortestText is how many characters a text has at least.
func (f *textFacts) shortestText() int {
	n := f.minLength
	for _, p := range f.patterns {
		n = max(n, shortest(p.tree))
	}
	return n
}

// text returns a text that fits, at most extra characters longer than must be
// where that can be chosen. It fits the first of several patterns, or the
// format; that it fits all else has to be checked.
func (f *textFacts) text(extra int, random *rand.Rand) string {
	if make := formats[f.format]; make != nil && len(f.patterns) == 0 {
		return make(random)
	}
	if len(f.patterns) > 0 {
		return f.matching(f.patterns[0], min(extra, 8), random)
	}
	length := between(f.minLength, min(f.maxLength, f.minLength+min(extra, 24)), random)
	if f.minLength == 0 && length == 0 && f.maxLength > 0 && extra > 0 {
		length = 1 // an empty text is possible, but says nothing
	}
	return string(appendWords(nil, length, random))
}

// matching returns a text that the pattern matches.
func (f *textFacts) matching(p *pattern, extra int, random *rand.Rand) string {
	least := shortest(p.tree)
	more := between(max(0, f.minLength-least), max(0, min(f.maxLength-least, max(0, f.minLength-least)+extra)), random)
	inside := min(more, spare(p.tree))
	var text []byte
	outside := more - inside
	if !p.atStart && p.atEnd {
		text = appendLetters(text, outside, random)
	}
	text = appendMatch(text, p.tree, inside, random)
	if missing := least + more - utf8.RuneCount(text); !p.atEnd && missing > 0 {
		text = appendLetters(text, missing, random)
	}
	return string(text)
}

func appendLetters(dst []byte, n int, random *rand.Rand) []byte {
	for range n {
		dst = append(dst, letters[random.IntN(len(letters))])
	}
	return dst
}

// appendWords appends words with a space between, cut to a length.
func appendWords(dst []byte, length int, random *rand.Rand) []byte {
	end := len(dst) + length
	for len(dst) < end {
		dst = append(append(dst, words[random.IntN(len(words))]...), ' ')
	}
	dst = dst[:end]
	if length > 0 && dst[end-1] == ' ' {
		dst[end-1] = letters[random.IntN(len(letters))]
	}
	return dst
}

// formats make a text of each format that is known. Others are annotations
// without effect, as JSON Schema has it.
var formats = map[string]func(*rand.Rand) string{
	"date-time": func(r *rand.Rand) string { return moment(r).Format(time.RFC3339) },
	"date":      func(r *rand.Rand) string { return moment(r).Format(time.DateOnly) },
	"time":      func(r *rand.Rand) string { return moment(r).Format("15:04:05Z07:00") },
	"duration":  func(r *rand.Rand) string { return fmt.Sprintf("P%dDT%dH%dM", r.IntN(30), r.IntN(24), r.IntN(60)) },

	"email":        func(r *rand.Rand) string { return word(r) + "." + word(r) + "@example.com" },
	"idn-email":    func(r *rand.Rand) string { return word(r) + "." + word(r) + "@example.com" },
	"hostname":     func(r *rand.Rand) string { return word(r) + ".example.com" },
	"idn-hostname": func(r *rand.Rand) string { return word(r) + ".example.com" },
	"ipv4":         func(r *rand.Rand) string { return fmt.Sprintf("192.0.2.%d", 1+r.IntN(254)) },
	"ipv6":         func(r *rand.Rand) string { return fmt.Sprintf("2001:db8::%x", 1+r.IntN(0xfffe)) },

	"uri":           func(r *rand.Rand) string { return address(r) },
	"iri":           func(r *rand.Rand) string { return address(r) },
	"uri-reference": func(r *rand.Rand) string { return "/" + word(r) + "/" + word(r) },
	"iri-reference": func(r *rand.Rand) string { return "/" + word(r) + "/" + word(r) },
	"uri-template":  func(r *rand.Rand) string { return address(r) + "/{" + word(r) + "}" },

	"json-pointer":          func(r *rand.Rand) string { return "/" + word(r) + fmt.Sprintf("/%d", r.IntN(10)) },
	"relative-json-pointer": func(r *rand.Rand) string { return fmt.Sprintf("%d/", r.IntN(10)) + word(r) },
	"regex":                 func(r *rand.Rand) string { return "^" + word(r) + "[0-9]+$" },

	"uuid": func(r *rand.Rand) string {
		high, low := r.Uint64(), r.Uint64()
		// Version 4, of the variant of RFC 9562.
		high, low = high&^0xf000|0x4000, low&^(0b11<<62)|0b10<<62
		return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", high>>32, high>>16&0xffff, high&0xffff, low>>48, low&(1<<48-1))
	},
}

func word(r *rand.Rand) string { return words[r.IntN(len(words))] }

func address(r *rand.Rand) string { return "https://example.com/" + word(r) + "/" + word(r) }

// moment is a second of the twenty years from 2010 on.
func moment(r *rand.Rand) time.Time {
	return time.Date(2010, 1, 1, 0, 0, r.IntN(20*365*24*3600), 0, time.UTC)
}
