package config

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

// maxComparisons bounds the search for unreachable entries; past it, the rest of
// the file is not looked at.
const maxComparisons = 5_000_000

// unreachable warns of each entry that an earlier one always comes before. It
// compares entries in pairs and condition by condition, so it does not find all
// of them, but each it names is one.
func unreachable(entries []Response) (warnings []string) {
	c := comparer{left: maxComparisons, always: make(map[*regexp.Regexp]bool)}
	for _, e := range entries {
		for _, re := range e.Match.Regexes {
			c.always[re] = matchesEverything(re)
		}
	}
	for later := range entries {
		for earlier := range later {
			if c.left < 0 {
				return warnings
			}
			if c.covers(entries[earlier].Match, entries[later].Match) {
				warnings = append(warnings, fmt.Sprintf("%s: %s is never used, since every text that it matches is matched by %s before it",
					entries[later].Where, entries[later].ID, entries[earlier].ID))
				break
			}
		}
	}
	return warnings
}

// comparer compares conditions.
type comparer struct {
	left   int // comparisons
	always map[*regexp.Regexp]bool
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
