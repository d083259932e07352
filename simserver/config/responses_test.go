package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// everyResponseKey has every key once.
const everyResponseKey = `
version: 1
seed: -42
responses:
  - id: all
    match:
      exact: ["\x1c hi\t", hello you]
      starts_with: "h"
      contains: ["", " i "]
      regex: ['(?P<who>\w+) (?P<what>.*)', '(?P<what>x)(?P<who>y)']
    reasoning: "{who}?"
    finish_reason: content_filter
    tool_calls:
      - name: find
        arguments: {b: "<{what}>", a: [1, 0x10, 1.5, true, null, "{{x}}", {"{c}": ""}]}
      - {name: raw, arguments: '{{"q": {model}'}
      - {name: none}
    variants:
      - "{{{who}}} {last_user_message}"
      - content: ""
        reasoning: {tokens: 7}
        finish_reason: stop
      - synthetic: {tokens: [1, 16777216]}
        tool_calls: [{name: own}]
      - error: {status: 599, message: "{model}", type: t, code: c, retry_after: 86400}
      - finish_reason: length
  - {id: plain, match: {exact: bye}, content: "bye"}
default:
  error: {status: 400, message: no}
`

func TestParseResponses(t *testing.T) {
	got, err := ParseResponses("r.yml", []byte(everyResponseKey))
	if err != nil {
		t.Fatal(err)
	}
	plain := func(s string) Template { return Template{{Text: s}} }
	who := Text{Template: Template{{Placeholder: "who"}, {Text: "?"}}}
	calls := []ToolCall{
		{Name: "find", JSON: true, Arguments: Template{
			{Text: `{"b": "<`}, {Placeholder: "what"}, {Text: `>", "a": [1, 16, 1.5, true, null, "{x}", {"{c}": ""}]}`},
		}},
		{Name: "raw", Arguments: Template{{Text: `{"q": `}, {Placeholder: "model"}}},
		{Name: "none", Arguments: plain("{}")},
	}
	want := &Responses{
		Seed: -42,
		Entries: []Response{
			{
				Where: "r.yml:5: responses[0]", ID: "all",
				Match: Match{
					Exact: []string{"hi", "hello you"}, StartsWith: []string{"h"}, Contains: []string{"", " i "},
					Regexes: []*regexp.Regexp{regexp.MustCompile(`(?P<who>\w+) (?P<what>.*)`), regexp.MustCompile(`(?P<what>x)(?P<who>y)`)},
				},
				Bodies: []Body{
					{
						Reasoning: who, ToolCalls: calls, FinishReason: "content_filter",
						Content: Text{Template: Template{{Text: "{"}, {Placeholder: "who"}, {Text: "} "}, {Placeholder: "last_user_message"}}},
					},
					{Reasoning: Text{MinTokens: 7, MaxTokens: 7}, ToolCalls: calls, FinishReason: "stop"},
					{
						Reasoning: who, Content: Text{MinTokens: 1, MaxTokens: 16777216}, FinishReason: "content_filter",
						ToolCalls: []ToolCall{{Name: "own", Arguments: plain("{}")}},
					},
					{Error: &ScriptedError{Status: 599, Message: Template{{Placeholder: "model"}}, Type: "t", Code: "c", RetryAfter: 86400}},
					{Reasoning: who, ToolCalls: calls, FinishReason: "length"},
				},
			},
			{
				Where: "r.yml:27: responses[1]", ID: "plain", Match: Match{Exact: []string{"bye"}},
				Bodies: []Body{{Content: Text{Template: plain("bye")}}},
			},
		},
		Default: []Body{{Error: &ScriptedError{Status: 400, Message: plain("no")}}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%s\nwant\n%s", dumpAny(got), dumpAny(want))
	}
}

func dumpAny(v any) string {
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func TestLeastResponses(t *testing.T) {
	got, err := ParseResponses("r.yml", []byte("version: 1\ndefault: {content: hi}\n"))
	if err != nil || len(got.Entries) != 0 || got.Seed != 0 || len(got.Default) != 1 {
		t.Errorf("got %s, %v", dumpAny(got), err)
	}
}

func TestLoadResponses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "responses.yml")
	if _, err := LoadResponses(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("no file: %v, want an error that names %s", err, path)
	}
	if err := os.WriteFile(path, []byte("version: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadResponses(path); err == nil || !strings.HasPrefix(err.Error(), path+":1: default: missing") {
		t.Errorf("a bad file: %v, want an error that starts with its path and line", err)
	}
}

func TestParseTemplate(t *testing.T) {
	for text, want := range map[string]Template{
		"":                  nil,
		"plain":             {{Text: "plain"}},
		"{a}{b_1}":          {{Placeholder: "a"}, {Placeholder: "b_1"}},
		"{{a}}":             {{Text: "{a}"}},
		"{{{a}}}":           {{Text: "{"}, {Placeholder: "a"}, {Text: "}"}},
		"x{{y{a}z}}":        {{Text: "x{y"}, {Placeholder: "a"}, {Text: "z}"}},
		"é{a}漢":             {{Text: "é"}, {Placeholder: "a"}, {Text: "漢"}},
		`{{"k": {{"a": 1}}`: {{Text: `{"k": {"a": 1}`}},
	} {
		got, problems := parseTemplate(text, func(string) string { return "" })
		if !reflect.DeepEqual(got, want) || problems != nil {
			t.Errorf("%q: %q with problems %q, want %q", text, got, problems, want)
		}
	}
}

// TestUnreachable: each pair is an entry and one after it, and whether the second
// is warned of.
func TestUnreachable(t *testing.T) {
	for _, c := range []struct {
		first, second string
		warned        bool
	}{
		{"exact: [a, b]", "exact: b", true},
		{"exact: [a, b]", "exact: [b, c]", false},
		{"exact: a", "starts_with: a", false},
		{"starts_with: a", "exact: abc", true},
		{"starts_with: a", "starts_with: [ab, ac]", true},
		{"starts_with: ab", "starts_with: a", false},
		{"starts_with: ab", "contains: ab", false},
		{"contains: b", "starts_with: abc", true},
		{"contains: b", "contains: [abc, b]", true},
		{"contains: abc", "contains: b", false},
		{"contains: b", "exact: abc", true},
		{"contains: b", "regex: abc", false},
		{"regex: 'a.c'", "regex: 'a.c'", true},
		{"regex: ['x', 'a.c']", "regex: 'a.c'", true},
		{"regex: 'a.c'", "regex: ['a.c', x]", false},
		{"regex: 'a.c'", "exact: xabc", true},
		{"regex: 'a.c'", "contains: abc", false},
		{"contains: b", "{contains: [bb, abc], starts_with: x}", true},
		{"{contains: b, starts_with: a}", "contains: bb", false},
		{"{contains: b, starts_with: a}", "{contains: bb, starts_with: ab}", true},
		{"{contains: b, starts_with: a}", "starts_with: ab", true},
		{"contains: ''", "regex: x", true},
		{"starts_with: ['', x]", "regex: x", true},
		{"exact: ''", "regex: x", false},
		{"regex: '.*'", "contains: x", true},
		{"regex: '^(a|b*)?'", "contains: x", true},
		{"regex: ''", "contains: x", true},
		{"regex: '(?P<a>.{0,3})'", "contains: x", true},
		{"regex: '.+'", "contains: x", false},
		{"regex: '^.*$'", "contains: x", false}, // not with a line break
		{"regex: '$'", "contains: x", false},    // true, but not looked into
		{"{regex: '.*', contains: x}", "contains: y", false},
	} {
		first, second := c.first, c.second
		brace := func(s string) string { return "{" + strings.Trim(s, "{}") + "}" }
		if strings.Contains(first, "{0,3}") {
			brace = func(s string) string { return "{" + s + "}" }
		}
		file := "version: 1\nresponses:\n" +
			"  - {id: one, content: x, match: " + brace(first) + "}\n" +
			"  - {id: two, content: x, match: " + brace(second) + "}\n" +
			"default: {content: x}\n"
		r, err := ParseResponses("r.yml", []byte(file))
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"r.yml:4: responses[1]: two is never used, since every text that it matches is matched by one before it"}
		if !c.warned {
			want = nil
		}
		if !reflect.DeepEqual(r.Warnings, want) {
			t.Errorf("%s, then %s: warnings %q, want %q", c.first, c.second, r.Warnings, want)
		}
	}
}

// FuzzParseResponses: no file makes the reader panic, and what it accepts is what
// it promises.
func FuzzParseResponses(f *testing.F) {
	f.Add([]byte(everyResponseKey))
	f.Add([]byte("version: 1\nresponses: [{id: a, match: {regex: ['(?P<x>a)', '(', b]}, content: '{x} {y} {'}]\ndefault: {variants: [a, {}, {error: []}]}"))
	f.Add([]byte("version: 1\ndefault: {tool_calls: [{name: a, arguments: {? {b: c} : d, e: !!binary x, f: .inf}}], reasoning: {tokens: [1]}}"))
	f.Add([]byte("version: 1\nresponses: []\ndefault: {synthetic: {tokens: [2, 1]}, content: x}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := ParseResponses("r.yml", data)
		if (r == nil) == (err == nil) {
			t.Fatalf("%v with error %v", r, err)
		}
		if err != nil {
			return
		}
		ids := make(map[string]bool)
		for _, e := range r.Entries {
			m := e.Match
			if e.ID == "" || e.ID == DefaultID || ids[e.ID] || e.Where == "" || len(m.Exact)+len(m.StartsWith)+len(m.Contains)+len(m.Regexes) == 0 {
				t.Fatalf("accepted %s", dumpAny(e))
			}
			ids[e.ID] = true
			checkBodies(t, e.Bodies, m.Regexes)
		}
		checkBodies(t, r.Default, nil)
	})
}

func checkBodies(t *testing.T, bodies []Body, regexes []*regexp.Regexp) {
	t.Helper()
	if len(bodies) == 0 {
		t.Fatal("accepted an entry without an answer")
	}
	check := func(template Template) {
		for _, p := range template {
			if p.Placeholder == "" || p.Placeholder == PlaceholderModel || p.Placeholder == PlaceholderUserMessage {
				continue
			}
			if len(regexes) == 0 {
				t.Fatalf("accepted the placeholder %s of nothing", p.Placeholder)
			}
			for _, re := range regexes {
				if re.SubexpIndex(p.Placeholder) < 0 {
					t.Fatalf("accepted the placeholder %s, which %s has not", p.Placeholder, re)
				}
			}
		}
	}
	for _, b := range bodies {
		for _, text := range []Text{b.Reasoning, b.Content} {
			check(text.Template)
			if text.MinTokens < 0 || text.MaxTokens < text.MinTokens || (text.MinTokens == 0) != (text.MaxTokens == 0) {
				t.Fatalf("accepted %s", dumpAny(b))
			}
		}
		for _, c := range b.ToolCalls {
			check(c.Arguments)
			if c.Name == "" {
				t.Fatalf("accepted %s", dumpAny(b))
			}
			if c.JSON {
				text := ""
				for _, p := range c.Arguments {
					text += p.Text + p.Placeholder
				}
				if !json.Valid([]byte(text)) {
					t.Fatalf("%s is not JSON", text)
				}
			}
		}
		if e := b.Error; e != nil {
			check(e.Message)
			if e.Status < 400 || e.Status > 599 || e.RetryAfter < 0 {
				t.Fatalf("accepted %s", dumpAny(b))
			}
		}
	}
}
