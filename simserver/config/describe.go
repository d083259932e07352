package config

import (
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// describe says what a node is, to stand before ", must be …".
func describe(node *yaml.Node) string {
	switch node.Kind {
	case yaml.MappingNode:
		return "is a section"
	case yaml.SequenceNode:
		return "is a list"
	}
	switch value := shortened(node.Value); node.ShortTag() {
	case "!!null":
		return "is empty"
	case "!!str":
		return "is the text " + strconv.Quote(value)
	case "!!int", "!!float":
		return "is the number " + value
	case "!!bool":
		return "is " + value
	default:
		return "is " + strconv.Quote(value) + " of the type " + node.ShortTag()
	}
}

// shortened cuts what would make an error unreadable.
func shortened(s string) string {
	const limit = 40
	for i := range s {
		if i > limit {
			return s[:i] + "…"
		}
	}
	return s
}

// alternatives lists choices as "a, b or c".
func alternatives(choices []string) string {
	last := len(choices) - 1
	if last == 0 {
		return choices[0]
	}
	return strings.Join(choices[:last], ", ") + " or " + choices[last]
}

// nearest returns the choice that s was probably meant to be, or "": the one
// with the fewest edits, where those are few for its length.
func nearest(s string, choices []string) string {
	const longest = 64 // of a word worth comparing
	if len(s) > longest {
		return ""
	}
	best, fewest := "", 0
	for _, choice := range choices {
		edits := distance(s, choice)
		if edits <= max(1, len(choice)/3) && (best == "" || edits < fewest) {
			best, fewest = choice, edits
		}
	}
	return best
}

// distance is Levenshtein's: how many bytes must be put in, taken out or
// replaced to make a into b.
func distance(a, b string) int {
	row := make([]int, len(b)+1) // distances of a's prefix to each prefix of b
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
