package config

import (
	"fmt"
	"strings"
)

// parseTemplate takes a text apart at its placeholders. The problems say what is
// wrong, each without its place; known says what is wrong with a name.
func parseTemplate(text string, known func(name string) string) (t Template, problems []string) {
	var plain strings.Builder
	flush := func() {
		if plain.Len() > 0 {
			t = append(t, Part{Text: plain.String()})
			plain.Reset()
		}
	}
	for text != "" {
		at := strings.IndexAny(text, "{}")
		if at < 0 {
			break
		}
		plain.WriteString(text[:at])
		brace := text[at]
		text = text[at+1:]
		if text != "" && text[0] == brace {
			plain.WriteByte(brace)
			text = text[1:]
			continue
		}
		name, rest, closed := strings.Cut(text, "}")
		if brace == '}' || !closed || !isName(name) {
			problems = append(problems, fmt.Sprintf("a single %c before %q, must be doubled where no placeholder is meant", brace, shortened(text)))
			continue
		}
		text = rest
		if problem := known(name); problem != "" {
			problems = append(problems, problem)
		}
		flush()
		t = append(t, Part{Placeholder: name})
	}
	plain.WriteString(text)
	flush()
	return t, problems
}

// isName says whether a regex's group could have this name.
func isName(s string) bool {
	for _, r := range s {
		if r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return false
		}
	}
	return s != ""
}
