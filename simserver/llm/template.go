package llm

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// Template is a text with placeholders, in parts to be joined.
type Template []Part

// Part is Text, or what the placeholder of this name stands for: a named group of
// the regex that matched, or one of the two that every template may use. Any other
// name, and a group that took no part in the match, stand for nothing.
type Part struct{ Text, Placeholder string }

// What every template may name.
const (
	placeholderUserMessage = "last_user_message"
	placeholderModel       = "model"
)

// values are what placeholders stand for in one request.
type values struct {
	userMessage, model string
	text               string // that was matched
	found              found
}

func (v *values) of(name string) string {
	switch name {
	case placeholderUserMessage:
		return v.userMessage
	case placeholderModel:
		return v.model
	}
	if v.found.regex == nil {
		return ""
	}
	group := v.found.regex.SubexpIndex(name)
	if group < 0 || v.found.groups[2*group] < 0 {
		return ""
	}
	return v.text[v.found.groups[2*group]:v.found.groups[2*group+1]]
}

// render joins a template's parts up to most bytes; cut says that there was more.
// With inJSON set, placeholders stand within JSON strings.
func (t Template) render(v *values, inJSON bool, most int) (text string, cut bool) {
	var b strings.Builder
	for _, part := range t {
		s := part.Text
		if part.Placeholder != "" {
			s = v.of(part.Placeholder)
			if inJSON {
				s, cut = escaped(start(s, most)), cut || len(s) > most
			}
		}
		if room := most - b.Len(); len(s) > room {
			b.WriteString(start(s, room))
			return b.String(), true
		}
		b.WriteString(s)
	}
	return b.String(), cut
}

// start is as many whole characters of s as n bytes hold.
func start(s string, n int) string {
	if n >= len(s) {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// escaped is s as it stands in a JSON string.
func escaped(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return "" // a string always encodes
	}
	quoted := strings.TrimSuffix(b.String(), "\n")
	return quoted[1 : len(quoted)-1]
}
