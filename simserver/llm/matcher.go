package llm

import (
	"math/bits"
	"regexp"
	"slices"
	"strings"
)

// matcher finds the first entry of a script that a text matches. It is immutable
// and safe for concurrent use.
//
// A pass over the text finds every literal of every entry; an entry is looked at
// only if the text starts with, equals or holds what a match needs. The order of
// the entries and the result are those of trying them one by one.
type matcher struct {
	entries []rule
	// always are the entries of which nothing is known that a match needs.
	always   bitset
	exact    map[string][]int32
	prefixes *prefixes
	literals *automaton
	// triggers are, by literal, the entries to look at when a text holds it.
	triggers [][]int32
	// gate is for texts that are long.
	gate gate
}

// rule is what must hold of an entry's candidates: all of it. That they equal a
// text, where they must, is known, since nothing else makes them candidates.
type rule struct {
	startsWith []string
	contains   []containsRule // none also where every text holds one
	regexes    []regexRule
}

type containsRule struct {
	text    string
	literal int32
}

type regexRule struct {
	*regexp.Regexp
	literals []int32 // of which a match needs one; nil: none
	groups   bool    // it has named ones
}

// found is the entry that a text matches; -1: none. Where a regex with named groups
// matched, it and its groups' places in the text.
type found struct {
	entry  int
	regex  *regexp.Regexp
	groups []int
}

// newMatcher compiles entries.
func newMatcher(entries []Match) *matcher {
	m := &matcher{always: newBitset(len(entries)), exact: make(map[string][]int32), gate: longWork}
	starts := make(map[string][]int32)
	literals := literalNumbers{numbers: make(map[string]int32)}
	for i, e := range entries {
		r := newRule(e, &literals)
		m.entries = append(m.entries, r)
		n := int32(i)
		switch needs := r.triggers(); {
		case len(e.Exact) > 0:
			for _, s := range distinct(slices.Clone(e.Exact)) {
				m.exact[s] = append(m.exact[s], n)
			}
		case len(e.StartsWith) > 0:
			for _, s := range distinct(slices.Clone(e.StartsWith)) {
				starts[s] = append(starts[s], n)
			}
		case needs == nil:
			m.always.add(n)
		default:
			m.triggers = append(m.triggers, make([][]int32, len(literals.all)-len(m.triggers))...)
			for _, l := range needs {
				m.triggers[l] = append(m.triggers[l], n)
			}
		}
	}
	m.triggers = append(m.triggers, make([][]int32, len(literals.all)-len(m.triggers))...)
	m.prefixes = newPrefixes(starts)
	m.literals = newAutomaton(literals.all)
	return m
}

// literalNumbers counts distinct literals.
type literalNumbers struct {
	all     []string
	numbers map[string]int32
}

func (l *literalNumbers) number(s string) int32 {
	n, ok := l.numbers[s]
	if !ok {
		n = int32(len(l.all))
		l.all = append(l.all, s)
		l.numbers[s] = n
	}
	return n
}

func newRule(e Match, literals *literalNumbers) rule {
	r := rule{startsWith: e.StartsWith}
	if !slices.Contains(e.Contains, "") {
		for _, s := range e.Contains {
			r.contains = append(r.contains, containsRule{s, literals.number(cutLiteral(s))})
		}
	}
	for _, re := range e.Regexes {
		compiled := regexRule{Regexp: re, groups: hasNames(re)}
		for _, l := range requiredLiterals(re.String()) {
			compiled.literals = append(compiled.literals, literals.number(l))
		}
		r.regexes = append(r.regexes, compiled)
	}
	return r
}

func hasNames(re *regexp.Regexp) bool {
	return slices.ContainsFunc(re.SubexpNames(), func(name string) bool { return name != "" })
}

// triggers are literals of which a text must hold one to match; nil: not known.
func (r *rule) triggers() (literals []int32) {
	for _, c := range r.contains {
		literals = append(literals, c.literal)
	}
	if literals == nil {
		for _, re := range r.regexes {
			if re.literals == nil {
				return nil
			}
			literals = append(literals, re.literals...)
		}
	}
	slices.Sort(literals)
	return slices.Compact(literals)
}

// match finds the first entry that text, without the white space around it,
// matches.
func (m *matcher) match(text string) found {
	long := m.gate.text(len(text))
	defer m.gate.end(long)
	var small [256]uint64 // room for the sets of all but large scripts
	room := small[:]
	words := (len(m.triggers)+63)/64 + len(m.always)
	if words > len(room) {
		room = make([]uint64, words)
	}
	candidates, seen := bitset(room[:len(m.always)]), bitset(room[len(m.always):])
	copy(candidates, m.always)

	for _, entry := range m.exact[text] {
		candidates.add(entry)
	}
	m.prefixes.find(text, candidates)
	m.literals.find(text, seen)
	for word, set := range seen {
		for ; set != 0; set &= set - 1 {
			for _, entry := range m.triggers[word*64+bits.TrailingZeros64(set)] {
				candidates.add(entry)
			}
		}
	}
	for word, set := range candidates {
		for ; set != 0; set &= set - 1 {
			i := word*64 + bits.TrailingZeros64(set)
			m.gate.pause(long)
			if f, ok := m.entries[i].match(text, seen, func() { m.gate.pause(long) }); ok {
				f.entry = i
				return f
			}
		}
	}
	return found{entry: -1}
}

// match tries a rule, given the literals that text holds. It pauses before each
// regex but the first.
func (r *rule) match(text string, seen bitset, pause func()) (f found, ok bool) {
	if len(r.startsWith) > 0 && !slices.ContainsFunc(r.startsWith, func(s string) bool { return strings.HasPrefix(text, s) }) {
		return f, false
	}
	if r.contains != nil && !slices.ContainsFunc(r.contains, func(c containsRule) bool {
		return seen.has(c.literal) && strings.Contains(text, c.text)
	}) {
		return f, false
	}
	if r.regexes == nil {
		return f, true
	}
	for i, re := range r.regexes {
		if re.literals != nil && !slices.ContainsFunc(re.literals, seen.has) {
			continue
		}
		if i > 0 {
			pause()
		}
		if !re.groups {
			if re.MatchString(text) {
				return f, true
			}
		} else if groups := re.FindStringSubmatchIndex(text); groups != nil {
			return found{regex: re.Regexp, groups: groups}, true
		}
	}
	return f, false
}
