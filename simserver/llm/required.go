package llm

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of what is derived from an expression. They cost precision, never a
// match.
const (
	maxExact    = 16  // strings that an expression is multiplied out to
	maxRequired = 512 // literals of which a match needs one
	maxLiteral  = 32  // bytes of a literal; a longer one is cut
)

// requiredLiterals returns strings of which the text of every match holds at least
// one, once its ASCII letters are in lower case, as those of the strings are. None:
// nothing is known to be required.
func requiredLiterals(expression string) []string {
	tree, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return nil
	}
	need := piecesOf(tree).required()
	if !need.useful() {
		return nil
	}
	literals := make([]string, 0, len(need.strings)+2)
	for _, s := range need.strings {
		literals = append(literals, cutLiteral(s))
	}
	if need.odd&longS != 0 {
		literals = append(literals, "ſ")
	}
	if need.odd&kelvin != 0 {
		literals = append(literals, "\u212a")
	}
	slices.Sort(literals)
	return slices.Compact(literals)
}

// cutLiteral is the start of a literal, in lower case.
func cutLiteral(s string) string { return lowerASCII(s[:min(len(s), maxLiteral)]) }

// literalSet holds strings in lower case of which one occurs, or else one of the
// odd letters does.
type literalSet struct {
	strings []string
	odd     oddLetters
}

// oddLetters are the two letters outside ASCII that equal one within when case is
// ignored. Each s or k of an expression that ignores case would double its strings
// for a letter that hardly a text has; noting that the letter may occur at all
// keeps the strings long and few.
type oddLetters uint8

const (
	longS  oddLetters = 1 << iota // ſ, an s
	kelvin                        // U+212A, a k
)

// useful says whether a text can lack what the set requires.
func (l literalSet) useful() bool {
	return len(l.strings) > 0 && len(l.strings) <= maxRequired && !slices.Contains(l.strings, "")
}

// better says whether l tells more texts from a match than other does: by its
// shortest literal, then by how few there are.
func (l literalSet) better(other literalSet) bool {
	if !l.useful() || !other.useful() {
		return l.useful()
	}
	a, b := shortest(l.strings), shortest(other.strings)
	return a > b || a == b && len(l.strings) < len(other.strings)
}

func shortest(literals []string) int {
	n := maxLiteral
	for _, s := range literals {
		n = min(n, len(s))
	}
	return n
}

// pieces is what is known of the texts that an expression matches.
type pieces struct {
	// exact holds all of them, where isExact.
	exact   literalSet
	isExact bool
	// need is what each holds a piece of, where it is useful and not isExact.
	need literalSet
}

func (p pieces) required() literalSet {
	if p.isExact {
		return p.exact
	}
	return p.need
}

func exactly(s ...string) pieces {
	return pieces{exact: literalSet{strings: s}, isExact: true}
}

// piecesOf analyses an expression.
func piecesOf(re *syntax.Regexp) pieces {
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText,
		syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return exactly("")
	case syntax.OpLiteral:
		return literalPieces(re.Rune, re.Flags&syntax.FoldCase != 0)
	case syntax.OpCharClass:
		return classPieces(re.Rune)
	case syntax.OpCapture:
		return piecesOf(re.Sub[0])
	case syntax.OpQuest:
		p := piecesOf(re.Sub[0])
		if !p.isExact || len(p.exact.strings) == maxExact {
			return pieces{}
		}
		p.exact.strings = distinct(append(slices.Clone(p.exact.strings), ""))
		return p
	case syntax.OpPlus:
		return pieces{need: piecesOf(re.Sub[0]).required()}
	case syntax.OpRepeat:
		return repeatPieces(re)
	case syntax.OpConcat:
		s := newSequence()
		for _, sub := range re.Sub {
			s.add(piecesOf(sub))
		}
		return s.pieces()
	case syntax.OpAlternate:
		return alternatePieces(re.Sub)
	}
	return pieces{} // OpStar, OpAnyChar, OpAnyCharNotNL, OpNoMatch
}

// literalPieces reads characters one after the other. U+FFFD is as good as any
// character, since it matches every byte that is not UTF-8.
func literalPieces(runes []rune, fold bool) pieces {
	s := newSequence()
	var single strings.Builder // characters that have one spelling in lower case
	flush := func() {
		if single.Len() > 0 {
			s.add(exactly(single.String()))
			single.Reset()
		}
	}
	for _, r := range runes {
		if r == utf8.RuneError {
			flush()
			s.add(pieces{})
			continue
		}
		if !fold {
			single.WriteString(lowerASCII(string(r)))
			continue
		}
		spellings, odd := foldings(r)
		s.odd(odd)
		if len(spellings) == 1 {
			single.WriteString(spellings[0])
			continue
		}
		flush()
		s.add(exactly(spellings...))
	}
	flush()
	return s.pieces()
}

// foldings returns how a character may be spelt where case is ignored, without the
// odd letters, which are told apart.
func foldings(r rune) (spellings []string, odd oddLetters) {
	spell := func(r rune) {
		switch r {
		case 'ſ':
			odd |= longS
		case '\u212a':
			odd |= kelvin
		default:
			spellings = append(spellings, lowerASCII(string(r)))
		}
	}
	spell(r)
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		spell(f)
	}
	return distinct(spellings), odd
}

// classPieces multiplies a small class of characters out.
func classPieces(ranges []rune) pieces {
	var spellings []string
	for i := 0; i < len(ranges); i += 2 {
		for r := ranges[i]; r <= ranges[i+1]; r++ {
			if r == utf8.RuneError || len(spellings) == 2*maxExact {
				return pieces{}
			}
			spellings = append(spellings, lowerASCII(string(r)))
		}
	}
	if spellings = distinct(spellings); len(spellings) == 0 || len(spellings) > maxExact {
		return pieces{}
	}
	return exactly(spellings...)
}

// repeatPieces takes what there is at least of. Of nothing, nothing is required.
func repeatPieces(re *syntax.Regexp) pieces {
	sub := piecesOf(re.Sub[0])
	s := newSequence()
	for range min(re.Min, maxLiteral) {
		s.add(sub)
	}
	p := s.pieces()
	if re.Max == re.Min && re.Min <= maxLiteral {
		return p
	}
	return pieces{need: p.required()}
}

// alternatePieces joins what each alternative needs: a match holds a piece of one.
func alternatePieces(subs []*syntax.Regexp) pieces {
	joined := pieces{isExact: true}
	for _, sub := range subs {
		p := piecesOf(sub)
		joined.isExact = joined.isExact && p.isExact
		need := p.required()
		if len(need.strings) == 0 || len(joined.exact.strings)+len(need.strings) > maxRequired {
			return pieces{}
		}
		joined.exact.strings = append(joined.exact.strings, need.strings...)
		joined.exact.odd |= need.odd
	}
	joined.exact.strings = distinct(joined.exact.strings)
	if joined.isExact && len(joined.exact.strings) <= maxExact {
		return joined
	}
	return pieces{need: joined.exact}
}

// sequence joins pieces that follow each other, and keeps the best set that a
// match of all of them needs.
type sequence struct {
	run   literalSet // what the last pieces spell together
	whole bool       // run spells all pieces
	best  literalSet
}

func newSequence() *sequence {
	return &sequence{run: literalSet{strings: []string{""}}, whole: true}
}

func (s *sequence) odd(letters oddLetters) { s.run.odd |= letters }

func (s *sequence) add(p pieces) {
	if p.isExact && len(s.run.strings)*len(p.exact.strings) <= maxExact {
		product := make([]string, 0, len(s.run.strings)*len(p.exact.strings))
		for _, a := range s.run.strings {
			for _, b := range p.exact.strings {
				product = append(product, a+b)
			}
		}
		s.run = literalSet{distinct(product), s.run.odd | p.exact.odd}
		return
	}
	s.offer(s.run)
	s.whole, s.run = false, literalSet{strings: []string{""}}
	if p.isExact {
		s.run = p.exact
	} else {
		s.offer(p.need)
	}
}

func (s *sequence) offer(l literalSet) {
	if l.better(s.best) {
		s.best = l
	}
}

func (s *sequence) pieces() pieces {
	if s.whole {
		return pieces{exact: s.run, isExact: true}
	}
	s.offer(s.run)
	return pieces{need: s.best}
}

// distinct sorts strings and drops what is there twice.
func distinct(s []string) []string {
	slices.Sort(s)
	return slices.Compact(s)
}

// lowerASCII changes ASCII letters only, byte by byte.
func lowerASCII(s string) string {
	lower := []byte(s)
	for i, c := range lower {
		lower[i] = lowerByte(c)
	}
	return string(lower)
}

func lowerByte(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + ('a' - 'A')
	}
	return c
}
