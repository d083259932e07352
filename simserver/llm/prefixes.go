package llm

import (
	"slices"
	"strings"
)

// prefixes finds which of many strings a text starts with.
type prefixes struct {
	sorted []string
	parent []int // of each the longest other that it starts with; -1: none
	values [][]int32
}

// newPrefixes takes what each string stands for.
func newPrefixes(values map[string][]int32) *prefixes {
	p := &prefixes{}
	var open []int // the strings that the next one may start with
	for s := range values {
		p.sorted = append(p.sorted, s)
	}
	slices.Sort(p.sorted)
	for i, s := range p.sorted {
		for len(open) > 0 && !strings.HasPrefix(s, p.sorted[open[len(open)-1]]) {
			open = open[:len(open)-1]
		}
		parent := -1
		if len(open) > 0 {
			parent = open[len(open)-1]
		}
		open = append(open, i)
		p.parent = append(p.parent, parent)
		p.values = append(p.values, values[s])
	}
	return p
}

// find adds to found what the strings stand for that text starts with.
func (p *prefixes) find(text string, found bitset) {
	// All that text starts with sorts before it, and whatever sorts in between
	// starts with the same: so the last string before text leads to all of them.
	i, exact := slices.BinarySearch(p.sorted, text)
	if !exact {
		i--
	}
	for ; i >= 0; i = p.parent[i] {
		if !strings.HasPrefix(text, p.sorted[i]) {
			continue
		}
		for _, v := range p.values[i] {
			found.add(v)
		}
	}
}
