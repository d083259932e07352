package config

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// section is a YAML mapping being read. Its getters report what is missing or
// wrong and then return a zero value, so that reading goes on to the next error.
type section struct {
	reader *reader
	path   string // of the section itself; empty at the top
	line   int
	keys   []*yaml.Node
	values map[string]*yaml.Node
}

// section opens node, which must be a mapping; nil: reported. The keys are
// those an error names.
func (r *reader) section(node *yaml.Node, path string, keys []string) *section {
	if node.Kind != yaml.MappingNode {
		what := describe(node)
		if path == "" {
			what = "the file " + what
		}
		r.report(node.Line, path, "%s, must be a section with the keys %s", what, strings.Join(keys, ", "))
		return nil
	}
	s := &section{reader: r, path: path, line: node.Line, values: make(map[string]*yaml.Node)}
	lines := make(map[string]int)
	for i := 0; i < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		if key.Kind != yaml.ScalarNode {
			r.report(key.Line, path, "a key here %s, must be plain text", describe(key))
			continue
		}
		if first, twice := lines[key.Value]; twice {
			r.report(key.Line, s.pathOf(key.Value), "duplicate key, first on line %d, must be there once", first)
			continue
		}
		lines[key.Value] = key.Line
		s.keys = append(s.keys, key)
		s.values[key.Value] = value
	}
	return s
}

// allow refuses every key that is not known; where, if not
// empty, follows "known here".
func (s *section) allow(where string, known []string) {
	for _, key := range s.keys {
		if slices.Contains(known, key.Value) {
			continue
		}
		hint := "; known"
		if near := nearest(key.Value, known); near != "" {
			hint = ", did you mean " + near + "? Known"
		}
		s.reader.report(key.Line, s.pathOf(key.Value), "unknown key%s here%s: %s",
			hint, where, strings.Join(known, ", "))
	}
}

// has says whether the key is there, with whatever value.
func (s *section) has(key string) bool { return s.values[key] != nil }

// refuse reports a problem with the value of a key that is there.
func (s *section) refuse(key, format string, args ...any) {
	s.reader.report(s.values[key].Line, s.pathOf(key), format, args...)
}

// value returns a key's node; nil: missing, and reported.
func (s *section) value(key, want string) *yaml.Node {
	node := s.values[key]
	if node == nil {
		s.reader.report(s.line, s.pathOf(key), "missing, must be %s", want)
	}
	return node
}

// section opens the section under key.
func (s *section) section(key string, keys []string) *section {
	node := s.value(key, "a section with the keys "+strings.Join(keys, ", "))
	if node == nil {
		return nil
	}
	return s.reader.section(node, s.pathOf(key), keys)
}

// list returns the items under key, at least one.
func (s *section) list(key, want string) []*yaml.Node {
	node := s.value(key, want)
	if node == nil {
		return nil
	}
	if node.Kind != yaml.SequenceNode {
		s.refuse(key, "%s, must be %s", describe(node), want)
		return nil
	}
	if len(node.Content) == 0 {
		s.refuse(key, "the list is empty, must be %s", want)
	}
	return node.Content
}

// text returns the text under key, which must not be blank.
func (s *section) text(key, want string) string {
	node := s.value(key, want)
	if node == nil {
		return ""
	}
	if node.Kind != yaml.ScalarNode || node.ShortTag() != "!!str" {
		s.refuse(key, "%s, must be %s, as text", describe(node), want)
		return ""
	}
	if strings.TrimSpace(node.Value) == "" {
		s.refuse(key, "is blank, must be %s", want)
		return ""
	}
	return node.Value
}

// oneOf returns the text under key, which must be one of the choices.
func (s *section) oneOf(key string, choices []string) string {
	want := strings.Join(choices, " or ")
	text := s.text(key, want)
	if text == "" || slices.Contains(choices, text) {
		return text
	}
	hint := ""
	if near := nearest(text, choices); near != "" {
		hint = ", did you mean " + near + "?"
	}
	s.refuse(key, "%q is not known, must be %s%s", text, want, hint)
	return ""
}

// number returns the number under key, from low to high.
func (s *section) number(key string, low, high float64) float64 {
	return s.bounded(key, "a number", low, high)
}

// integer returns the whole number under key, from low to high. The bounds must
// be within 2⁵³, where float64 holds every integer.
func (s *section) integer(key string, low, high int) int {
	const want = "a whole number"
	n := s.bounded(key, want, float64(low), float64(high))
	if n != math.Trunc(n) {
		s.refuse(key, "%s is not possible, must be %s", s.values[key].Value, want)
		return 0
	}
	return int(n)
}

func (s *section) bounded(key, want string, low, high float64) float64 {
	want += " from " + plain(low) + " to " + plain(high)
	node := s.value(key, want)
	if node == nil {
		return 0
	}
	var n float64
	if tag := node.ShortTag(); node.Kind != yaml.ScalarNode || tag != "!!int" && tag != "!!float" || node.Decode(&n) != nil {
		s.refuse(key, "%s, must be %s", describe(node), want)
		return 0
	}
	switch {
	case math.IsNaN(n) || math.IsInf(n, 0):
		s.refuse(key, "%s is not possible, must be %s", node.Value, want)
	case n < low:
		s.refuse(key, "%s is not possible, must be %s or more", node.Value, plain(low))
	case n > high:
		s.refuse(key, "%s is not possible, must be %s or less", node.Value, plain(high))
	default:
		return n
	}
	return 0
}

func (s *section) pathOf(key string) string {
	if s.path == "" {
		return key
	}
	return s.path + "." + key
}

// plain writes a bound without an exponent.
func plain(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
