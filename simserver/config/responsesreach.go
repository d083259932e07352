package config

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

// maxComparisons bounds the search for unreachable entries.
const maxComparisons = 5_000_000

// unreachable warns of each entry that can't match or that earlier ones always come
// before, and says so where it stops early. It compares entries condition by
// condition, so it does not find all of them, but each it names is one.
func unreachable(entries []Response) (warnings []string) {
	c := comparer{left: maxComparisons, always: make(map[*regexp.Regexp]bool), exact: make(map[string][]int)}
	for i, e := range entries {
		for _, re := range e.Match.Regexes {
			c.always[re] = matchesEverything(re)
		}
		problem := c.problem(e.Match)
		if c.left < 0 {
			return append(warnings, fmt.Sprintf("%s: the search for entries that are never used ended at %s, since there is too much to compare; "+
				"it and the %d entries after it were not looked at", e.Where, e.ID, len(entries)-i-1))
		}
		if problem != "" {
			warnings = append(warnings, fmt.Sprintf("%s: %s %s", e.Where, e.ID, problem))
		}
		c.add(e)
	}
	return warnings
}

// comparer compares an entry with those before it.
type comparer struct {
	left    int // comparisons
	always  map[*regexp.Regexp]bool
	earlier []Response
	exact   map[string][]int // which of them have such an alternative
	inexact []int            // which have none
}

// add makes e an entry before the next ones.
func (c *comparer) add(e Response) {
	n := len(c.earlier)
	c.earlier = append(c.earlier, e)
	if len(e.Match.Exact) == 0 {
		c.inexact = append(c.inexact, n)
		return
	}
	for _, x := range e.Match.Exact {
		if same := c.exact[x]; len(same) == 0 || same[len(same)-1] != n {
			c.exact[x] = append(same, n)
		}
	}
}

// problem says why m is never used; empty: it may be.
func (c *comparer) problem(m Match) string {
	if m.Exact != nil {
		possible := slices.DeleteFunc(slices.Clone(m.Exact), func(x string) bool {
			rest, one := m, Match{Exact: []string{x}}
			rest.Exact = nil
			return !c.covers(rest, one)
		})
		if len(possible) == 0 {
			return "can never match, since none of its exact texts meets its other conditions"
		}
		m.Exact = possible
	}
	for _, pieces := range [][]Match{{m}, pieces(m, m.Exact, setExact), pieces(m, m.StartsWith, setStartsWith), pieces(m, m.Contains, setContains), pieces(m, m.Regexes, setRegexes)} {
		if covering := c.covering(pieces); covering != nil {
			return fmt.Sprintf("is never used, since every text that it matches is matched by %s before it", c.names(covering))
		}
	}
	return ""
}

// pieces are m by the alternatives of a condition, of which it has several. Each
// text that m matches, one of them matches.
func pieces[T any](m Match, alternatives []T, set func(m *Match, one []T)) (parts []Match) {
	if len(alternatives) < 2 {
		return nil
	}
	for i := range alternatives {
		part := m
		set(&part, alternatives[i:i+1])
		parts = append(parts, part)
	}
	return parts
}

func setExact(m *Match, one []string)           { m.Exact = one }
func setStartsWith(m *Match, one []string)      { m.StartsWith = one }
func setContains(m *Match, one []string)        { m.Contains = one }
func setRegexes(m *Match, one []*regexp.Regexp) { m.Regexes = one }

// covering are earlier entries of which one matches whatever one of the pieces
// matches; nil: some piece is not covered, or there is none.
func (c *comparer) covering(pieces []Match) (entries []int) {
	for _, piece := range pieces {
		n := c.coveredBy(piece)
		if n < 0 {
			return nil
		}
		if !slices.Contains(entries, n) {
			c.left -= len(entries)
			entries = append(entries, n)
		}
	}
	slices.Sort(entries)
	return entries
}

// coveredBy is an earlier entry that matches whatever m matches; -1: none is known.
func (c *comparer) coveredBy(m Match) int {
	first := func(candidates []int) int {
		for _, n := range candidates {
			if c.left--; c.left < 0 {
				break
			}
			if c.covers(c.earlier[n].Match, m) {
				return n
			}
		}
		return -1
	}
	if len(m.Exact) > 0 {
		// An entry that lists texts covers m only if m's first is one of them.
		if n := first(c.exact[m.Exact[0]]); n >= 0 {
			return n
		}
	}
	return first(c.inexact)
}

// names lists entries, some of them if they are many.
func (c *comparer) names(entries []int) string {
	const most = 4
	var names []string
	for _, n := range entries[:min(len(entries), most)] {
		names = append(names, c.earlier[n].ID)
	}
	list := strings.Join(names, ", ")
	if len(entries) > most {
		return fmt.Sprintf("%s and %d others", list, len(entries)-most)
	}
	if last := len(names) - 1; last > 0 {
		return strings.Join(names[:last], ", ") + " and " + names[last]
	}
	return list
}

// covers says whether it is certain that a matches whatever b matches: each
// condition of a must follow from one of b.
func (c *comparer) covers(a, b Match) bool {
	return (len(a.Exact) == 0 || all(b.Exact, func(x string) bool { return c.any(a.Exact, x, func(y string) bool { return x == y }) })) &&
		(len(a.StartsWith) == 0 || c.prefixes(a.StartsWith, b)) &&
		(len(a.Contains) == 0 || c.pieces(a.Contains, b)) &&
		(len(a.Regexes) == 0 || c.patterns(a.Regexes, b))
}

// prefixes says whether what b matches starts with one of want.
func (c *comparer) prefixes(want []string, b Match) bool {
	starts := func(x string) bool {
		return c.any(want, x, func(y string) bool { return strings.HasPrefix(x, y) })
	}
	return slices.Contains(want, "") || all(b.Exact, starts) || all(b.StartsWith, starts)
}

// pieces says whether what b matches contains one of want.
func (c *comparer) pieces(want []string, b Match) bool {
	holds := func(x string) bool {
		return c.any(want, x, func(y string) bool { return strings.Contains(x, y) })
	}
	return slices.Contains(want, "") || all(b.Exact, holds) || all(b.StartsWith, holds) || all(b.Contains, holds)
}

// patterns says whether what b matches is matched by one of want.
func (c *comparer) patterns(want []*regexp.Regexp, b Match) bool {
	if slices.ContainsFunc(want, func(re *regexp.Regexp) bool { return c.always[re] }) {
		return true
	}
	matched := func(x string) bool {
		return slices.ContainsFunc(want, func(re *regexp.Regexp) bool {
			c.left -= 1 + len(x)
			return c.left >= 0 && re.MatchString(x)
		})
	}
	same := func(x *regexp.Regexp) bool {
		return slices.ContainsFunc(want, func(y *regexp.Regexp) bool {
			c.left--
			return x.String() == y.String()
		})
	}
	return all(b.Exact, matched) || all(b.Regexes, same)
}

// any says whether one of want holds of x, and counts the work.
func (c *comparer) any(want []string, x string, holds func(string) bool) bool {
	return slices.ContainsFunc(want, func(y string) bool {
		c.left -= 1 + len(x)/64
		return c.left >= 0 && holds(y)
	})
}

// all says whether a condition is given, and holds of each alternative.
func all[T any](alternatives []T, holds func(T) bool) bool {
	return len(alternatives) > 0 && !slices.ContainsFunc(alternatives, func(x T) bool { return !holds(x) })
}

// matchesEverything says whether it is certain that re matches every text: it can
// match nothing at the very start.
func matchesEverything(re *regexp.Regexp) bool {
	tree, err := syntax.Parse(re.String(), syntax.Perl)
	return err == nil && matchesNothing(tree)
}

// matchesNothing says whether it is certain that the expression matches the empty
// piece at the start of any text.
func matchesNothing(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpStar, syntax.OpQuest, syntax.OpBeginText, syntax.OpBeginLine:
		return true
	case syntax.OpCapture, syntax.OpPlus:
		return matchesNothing(re.Sub[0])
	case syntax.OpRepeat:
		return re.Min == 0 || matchesNothing(re.Sub[0])
	case syntax.OpConcat:
		return all(re.Sub, matchesNothing)
	case syntax.OpAlternate:
		return slices.ContainsFunc(re.Sub, matchesNothing)
	}
	return false
}
