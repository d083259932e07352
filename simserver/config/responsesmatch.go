package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"
)

var matchKeys = []string{"exact", "regex", "starts_with", "contains"}

// match reads an entry's conditions, and which groups a template may name.
func (s *section) match() (m Match, groups scope) {
	conditions := s.subsection("match", matchKeys)
	if conditions == nil {
		return m, scope{unknown: true}
	}
	conditions.allow("", matchKeys)
	if len(conditions.keys) == 0 {
		s.refuse("match", "has no condition, must have one or more of %s", strings.Join(matchKeys, ", "))
	}
	conditions.alternatives("exact", func(text string, _ refusal) {
		m.Exact = append(m.Exact, strings.TrimFunc(text, isSpace))
	})
	conditions.alternatives("starts_with", func(text string, refuse refusal) {
		if strings.TrimLeftFunc(text, isSpace) != text {
			refuse("%q starts with white space, which is taken off before matching, must be without it", text)
		}
		m.StartsWith = append(m.StartsWith, text)
	})
	conditions.alternatives("contains", func(text string, _ refusal) {
		m.Contains = append(m.Contains, text)
	})
	conditions.alternatives("regex", func(text string, refuse refusal) {
		re, err := regexp.Compile(text)
		if err != nil {
			refuse("%v; must be a regular expression of Go (RE2)", err)
			groups.unknown = true
			return
		}
		for _, name := range builtIn {
			if re.SubexpIndex(name) >= 0 {
				refuse("the group %s has the name of a built-in placeholder, must have another", name)
			}
		}
		m.Regexes = append(m.Regexes, re)
	})
	if !groups.unknown {
		groups.addRegexes(m.Regexes)
	}
	return m, groups
}

// isSpace is what is taken off around a text before it is matched: Python's
// str.isspace, as the tokenizer has it.
func isSpace(r rune) bool { return unicode.IsSpace(r) || 0x1c <= r && r <= 0x1f }

// refusal reports what is wrong with one text of a list.
type refusal func(format string, args ...any)

// alternatives reads the text or list of texts under key, if there is one.
func (s *section) alternatives(key string, read func(text string, refuse refusal)) {
	node := s.values[key]
	if node == nil {
		return
	}
	nodes, path := []*yaml.Node{node}, func(int) string { return s.pathOf(key) }
	if node.Kind == yaml.SequenceNode {
		nodes, path = node.Content, func(i int) string { return fmt.Sprintf("%s[%d]", s.pathOf(key), i) }
		if len(nodes) == 0 {
			s.refuse(key, "the list is empty, must be a text or a list of texts")
		}
	}
	for i, n := range nodes {
		if text, ok := s.reader.plainText(n, path(i), "a text or a list of texts"); ok {
			read(text, func(format string, args ...any) { s.reader.report(n.Line, path(i), format, args...) })
		}
	}
}

// plainText reads a text, which may be blank; not ok: reported.
func (r *reader) plainText(node *yaml.Node, path, want string) (text string, ok bool) {
	if node.Kind != yaml.ScalarNode || node.ShortTag() != "!!str" {
		hint := ""
		if node.Kind == yaml.ScalarNode && node.ShortTag() != "!!null" {
			hint = "; in quotes it is a text"
		}
		r.report(node.Line, path, "%s, must be %s%s", describe(node), want, hint)
		return "", false
	}
	return node.Value, true
}

// scope is which placeholders an entry's templates may name beside the built-in
// ones.
type scope struct {
	// all are the groups that each of the entry's regexes has, some those that
	// only some have.
	all, some []string
	// unknown says that the conditions could not be read, so that any name may be
	// right.
	unknown bool
}

// addRegexes sorts the groups of an entry's regexes.
func (g *scope) addRegexes(regexes []*regexp.Regexp) {
	count := make(map[string]int)
	var names []string
	for _, re := range regexes {
		for _, name := range re.SubexpNames() {
			if name == "" {
				continue
			}
			if count[name] == 0 {
				names = append(names, name)
			}
			count[name]++
		}
	}
	for _, name := range names {
		if count[name] == len(regexes) {
			g.all = append(g.all, name)
		} else {
			g.some = append(g.some, name)
		}
	}
}

var builtIn = []string{PlaceholderUserMessage, PlaceholderModel}

// check says what is wrong with a placeholder's name; empty: nothing.
func (g scope) check(name string) string {
	known := slices.Concat(g.all, builtIn)
	switch {
	case g.unknown || slices.Contains(known, name):
		return ""
	case slices.Contains(g.some, name):
		return fmt.Sprintf("{%s} is a group of only some of the entry's regexes, must be one of each, "+
			"since any of them may match; known here: %s", name, strings.Join(known, ", "))
	}
	hint := "; known"
	if near := nearest(name, known); near != "" {
		hint = ", did you mean {" + near + "}? Known"
	}
	return fmt.Sprintf("{%s} is no placeholder%s here: %s", name, hint, strings.Join(known, ", "))
}
