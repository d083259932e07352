package config

import (
	"slices"
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
	return r.mapping(node, path, "a section with the keys "+strings.Join(keys, ", "))
}

// mapping opens node, which must be a mapping; nil: reported, as not what is
// wanted.
func (r *reader) mapping(node *yaml.Node, path, want string) *section {
	if node.Kind != yaml.MappingNode {
		what := describe(node)
		if path == "" {
			what = "the file " + what
		}
		r.report(node.Line, path, "%s, must be %s", what, want)
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

// require reports each key that is missing; when says under what condition they
// must be there.
func (s *section) require(when string, keys ...string) {
	for _, key := range keys {
		if !s.has(key) {
			s.reader.report(s.line, s.pathOf(key), "missing, must be given %s", when)
		}
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

// subsection opens the section under key.
func (s *section) subsection(key string, keys []string) *section {
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
	want := alternatives(choices)
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

func (s *section) pathOf(key string) string {
	if s.path == "" {
		return key
	}
	return s.path + "." + key
}
