package config

import (
	"encoding/json"
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"
)

// toolCall reads one call of an answer.
func (s *section) toolCall(node *yaml.Node, i int, known scope) (c ToolCall) {
	keys := []string{"name", "arguments"}
	call := s.reader.section(node, fmt.Sprintf("%s[%d]", s.pathOf("tool_calls"), i), keys)
	if call == nil {
		return c
	}
	call.allow("", keys)
	c.Name = call.text("name", "the tool's name")
	switch arguments := call.values["arguments"]; {
	case arguments == nil:
		c.Arguments = Template{{Text: "{}"}}
	case arguments.Kind == yaml.MappingNode:
		w := jsonWriter{reader: s.reader, known: known}
		w.value(arguments, call.pathOf("arguments"))
		w.flush()
		c.Arguments, c.JSON = w.done, true
	default:
		text, ok := s.reader.plainText(arguments, call.pathOf("arguments"), "a section, or JSON as a text")
		if ok {
			c.Arguments = s.reader.template(arguments, call.pathOf("arguments"), text, known)
		}
	}
	return c
}

// jsonWriter turns YAML into the template of one line of JSON, the keys in the
// order of the file. Its strings are templates.
type jsonWriter struct {
	reader *reader
	known  scope
	done   Template
	plain  strings.Builder // what follows done
}

func (w *jsonWriter) flush() {
	if w.plain.Len() > 0 {
		w.done = append(w.done, Part{Text: w.plain.String()})
		w.plain.Reset()
	}
}

// value writes a node.
func (w *jsonWriter) value(node *yaml.Node, path string) {
	switch node.Kind {
	case yaml.MappingNode:
		w.object(node, path)
	case yaml.SequenceNode:
		w.plain.WriteByte('[')
		for i, item := range node.Content {
			if i > 0 {
				w.plain.WriteString(", ")
			}
			w.value(item, fmt.Sprintf("%s[%d]", path, i))
		}
		w.plain.WriteByte(']')
	default:
		w.scalar(node, path)
	}
}

func (w *jsonWriter) object(node *yaml.Node, path string) {
	s := w.reader.mapping(node, path, "a section") // reports keys that are there twice
	w.plain.WriteByte('{')
	for i, key := range s.keys {
		if i > 0 {
			w.plain.WriteString(", ")
		}
		w.plain.WriteString(quoted(key.Value) + ": ")
		w.value(s.values[key.Value], s.pathOf(key.Value))
	}
	w.plain.WriteByte('}')
}

func (w *jsonWriter) scalar(node *yaml.Node, path string) {
	var value any
	switch node.ShortTag() {
	case "!!str":
		w.plain.WriteByte('"')
		for _, part := range w.reader.template(node, path, node.Value, w.known) {
			if part.Placeholder == "" {
				text := quoted(part.Text)
				w.plain.WriteString(text[1 : len(text)-1])
				continue
			}
			w.flush()
			w.done = append(w.done, part)
		}
		w.plain.WriteByte('"')
		return
	case "!!null":
		w.plain.WriteString("null")
		return
	case "!!bool", "!!int", "!!float":
		if node.Decode(&value) == nil {
			if text, err := json.Marshal(value); err == nil {
				w.plain.Write(text)
				return
			}
		}
	}
	w.reader.report(node.Line, path, "%s, must be something JSON has; in quotes it is a text", describe(node))
}

// quoted is a JSON string that leaves <, > and & as they are.
func quoted(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err) // a string always encodes
	}
	return strings.TrimSuffix(b.String(), "\n")
}
