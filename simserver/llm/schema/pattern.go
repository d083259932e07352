package schema

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"unicode/utf8"
)

// maxPatternSize bounds a pattern: its characters, classes and operators, each
// as often as it may be repeated at least.
const maxPatternSize = 2000

// pattern is a regular expression that texts are made from, and checked with.
type pattern struct {
	matcher *regexp.Regexp
	tree    *syntax.Regexp
	size    int
	// atStart and atEnd say whether a match must be at the text's start and end.
	atStart, atEnd bool
}

// unicodeEscape is how ECMAScript writes a character that Go writes \x{…}.
var unicodeEscape = regexp.MustCompile(`(\\\\)|\\u([0-9a-fA-F]{4})|\\u\{([0-9a-fA-F]+)\}`)

func newPattern(source string) (*pattern, error) {
	source = unicodeEscape.ReplaceAllStringFunc(source, func(match string) string {
		if match == `\\` {
			return match
		}
		m := unicodeEscape.FindStringSubmatch(match)
		return `\x{` + m[2] + m[3] + `}`
	})
	tree, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("%s is not supported, must be a regular expression without lookaround and backreferences (%w)",
			shortened(fmt.Sprintf("%q", source)), err)
	}
	size := patternSize(tree)
	if size > maxPatternSize {
		return nil, fmt.Errorf("%s has more than %d parts, repetitions multiplied, must have fewer", shortened(fmt.Sprintf("%q", source)), maxPatternSize)
	}
	matcher, err := regexp.Compile(source)
	if err != nil {
		return nil, err
	}
	return &pattern{matcher, tree, size, startsWith(tree, syntax.OpBeginText), endsWith(tree, syntax.OpEndText)}, nil
}

// patternSize is never more than a little above maxPatternSize.
func patternSize(re *syntax.Regexp) int {
	size := 1 + len(re.Rune)/8
	if re.Op == syntax.OpLiteral {
		size = len(re.Rune)
	}
	for _, sub := range re.Sub {
		if size += patternSize(sub); size > maxPatternSize {
			break
		}
	}
	if re.Op == syntax.OpRepeat {
		size *= max(re.Min, re.Max, 1)
	}
	return min(size, maxPatternSize+1)
}

func startsWith(re *syntax.Regexp, op syntax.Op) bool {
	for len(re.Sub) > 0 && (re.Op == syntax.OpConcat || re.Op == syntax.OpCapture) {
		re = re.Sub[0]
	}
	return re.Op == op
}

func endsWith(re *syntax.Regexp, op syntax.Op) bool {
	for len(re.Sub) > 0 && (re.Op == syntax.OpConcat || re.Op == syntax.OpCapture) {
		re = re.Sub[len(re.Sub)-1]
	}
	return re.Op == op
}

// noBound stands for as many characters as one likes.
const noBound = 1 << 30

// shortest returns how many characters a match has at least.
func shortest(re *syntax.Regexp) int {
	n := 0
	switch re.Op {
	case syntax.OpLiteral:
		return len(re.Rune)
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return 1
	case syntax.OpCapture, syntax.OpPlus:
		return shortest(re.Sub[0])
	case syntax.OpRepeat:
		return min(re.Min*shortest(re.Sub[0]), noBound)
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			n = min(n+shortest(sub), noBound)
		}
	case syntax.OpAlternate:
		n = noBound
		for _, sub := range re.Sub {
			n = min(n, shortest(sub))
		}
	}
	return n
}

// spare returns how many characters a match may have beyond the shortest.
func spare(re *syntax.Regexp) int {
	n := 0
	switch re.Op {
	case syntax.OpCapture:
		return spare(re.Sub[0])
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		least, most := copies(re)
		one := shortest(re.Sub[0])
		more := spare(re.Sub[0])
		if most < 0 && one+more > 0 {
			return noBound
		}
		return saturated(most, one+more) - min(saturated(least, one), noBound)
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			n = min(n+spare(sub), noBound)
		}
	case syntax.OpAlternate:
		least := shortest(re)
		for _, sub := range re.Sub {
			n = max(n, min(shortest(sub)-least+spare(sub), noBound))
		}
	}
	return n
}

// copies returns how often a repetition may repeat; most is -1 for any number.
func copies(re *syntax.Regexp) (least, most int) {
	switch re.Op {
	case syntax.OpStar:
		return 0, -1
	case syntax.OpPlus:
		return 1, -1
	case syntax.OpQuest:
		return 0, 1
	}
	return re.Min, re.Max
}

func saturated(n, size int) int {
	if n <= 0 || size <= 0 {
		return 0
	}
	if n > noBound/size {
		return noBound
	}
	return n * size
}

// appendMatch appends a text that re matches, as long as the shortest and more
// characters besides, where the expression can be so long.
func appendMatch(dst []byte, re *syntax.Regexp, more int, random *rand.Rand) []byte {
	switch re.Op {
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			dst = utf8.AppendRune(dst, r)
		}
	case syntax.OpCharClass:
		dst = utf8.AppendRune(dst, pick(re.Rune, random))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		dst = append(dst, letters[random.IntN(len(letters))])
	case syntax.OpCapture:
		dst = appendMatch(dst, re.Sub[0], more, random)
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		dst = appendCopies(dst, re, more, random)
	case syntax.OpConcat:
		dst = appendParts(dst, re.Sub, more, random)
	case syntax.OpAlternate:
		dst = appendAlternative(dst, re, more, random)
	}
	return dst
}

// appendParts gives each part a share that leaves the later ones no more than
// they can take.
func appendParts(dst []byte, parts []*syntax.Regexp, more int, random *rand.Rand) []byte {
	after := make([]int, len(parts)+1) // what the parts from each on can take
	for i := len(parts) - 1; i >= 0; i-- {
		after[i] = min(after[i+1]+spare(parts[i]), noBound)
	}
	for i, part := range parts {
		most := min(more, spare(part))
		share := between(max(0, more-after[i+1]), most, random)
		start := len(dst)
		dst = appendMatch(dst, part, share, random)
		more = max(0, more-(utf8.RuneCount(dst[start:])-shortest(part)))
	}
	return dst
}

func appendCopies(dst []byte, re *syntax.Regexp, more int, random *rand.Rand) []byte {
	sub := re.Sub[0]
	n, most := copies(re)
	one, each := shortest(sub), spare(sub)
	for more > 0 && one+each > 0 && (most < 0 || n < most) && (saturated(n, each) < more || one > 0 && random.IntN(2) == 0) {
		if one > more {
			break
		}
		n++
		more -= one
		if one == 0 && each == noBound {
			break
		}
	}
	for i := range n {
		share := between(max(0, more-saturated(n-1-i, each)), min(more, each), random)
		start := len(dst)
		dst = appendMatch(dst, sub, share, random)
		more = max(0, more-(utf8.RuneCount(dst[start:])-one))
	}
	return dst
}

// appendAlternative chooses among the alternatives that can be so long, or else
// among those that are not longer.
func appendAlternative(dst []byte, re *syntax.Regexp, more int, random *rand.Rand) []byte {
	least := shortest(re)
	var fit, short []*syntax.Regexp
	for _, sub := range re.Sub {
		surplus := shortest(sub) - least
		if surplus <= more {
			short = append(short, sub)
			if surplus+spare(sub) >= more {
				fit = append(fit, sub)
			}
		}
	}
	if len(fit) == 0 {
		fit = short // never empty: it has the shortest
	}
	sub := fit[random.IntN(len(fit))]
	return appendMatch(dst, sub, more-(shortest(sub)-least), random)
}

// between draws from low to high, or is high where low is above.
func between(low, high int, random *rand.Rand) int {
	if low >= high {
		return high
	}
	return low + random.IntN(high-low+1)
}

const letters = "abcdefghijklmnopqrstuvwxyz"

// pick draws a character from a class's ranges: a letter or digit where there is
// one, else what ASCII can print, else any.
func pick(ranges []rune, random *rand.Rand) rune {
	for _, preferred := range [][]rune{{'0', '9', 'A', 'Z', 'a', 'z'}, {' ', '~'}, {0, 0xd7ff, 0xe000, utf8.MaxRune}} {
		var both []rune
		total := 0
		for i := 0; i < len(ranges); i += 2 {
			for j := 0; j < len(preferred); j += 2 {
				low, high := max(ranges[i], preferred[j]), min(ranges[i+1], preferred[j+1])
				if low <= high {
					both = append(both, low, high)
					total += int(high-low) + 1
				}
			}
		}
		if total == 0 {
			continue
		}
		n := rune(random.IntN(total))
		for i := 0; ; i += 2 {
			size := both[i+1] - both[i] + 1
			if n < size {
				return both[i] + n
			}
			n -= size
		}
	}
	return utf8.RuneError // of an empty class, which matches nothing
}
