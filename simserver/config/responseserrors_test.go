package config

import (
	"strings"
	"testing"
)

// scriptFile is a file without a fault; each case puts something in place of its
// entry's match, its answer, or its default.
const scriptFile = `version: 1
responses:
  - id: one
    match: {exact: hi}
    content: hello
default: {content: bye}
`

func TestResponsesErrors(t *testing.T) {
	replaced := func(old, with string) string {
		if !strings.Contains(scriptFile, old) {
			t.Fatalf("the file holds no %q", old)
		}
		return strings.Replace(scriptFile, old, with, 1)
	}
	match := func(m string) string { return replaced("match: {exact: hi}", "match: "+m) }
	answer := func(a string) string { return replaced("content: hello", a) }
	const known = "content, synthetic, reasoning, tool_calls, finish_reason, error, replay"
	const entryKnown = "id, match, variants, " + known
	tests := []struct{ name, file, want string }{
		// The file as a whole.
		{"empty", "", "r.yml:1: the file is empty, must have the sections version and default"},
		{
			"nothing but a key", "respones: []\n",
			"r.yml:1: respones: unknown key, did you mean responses? Known here: version, seed, responses, default\n" +
				"r.yml:1: version: missing, must be 1\n" +
				"r.yml:1: default: missing, must be a section with the keys variants, " + known,
		},
		{"version", replaced("version: 1", "version: 2"), "r.yml:1: version: 2 is not known, must be 1"},
		{"seed", "seed: a\n" + scriptFile, `r.yml:1: seed: is the text "a", must be a whole number from -9007199254740992 to 9007199254740992`},
		{"no default", replaced("default: {content: bye}\n", ""), "r.yml:1: default: missing, must be a section with the keys variants, " + known},
		{"default with a match", replaced("{content: bye}", "{content: bye, id: x}"), "r.yml:6: default.id: unknown key; known here: variants, " + known},
		{"empty list", "version: 1\nresponses: []\ndefault: {content: x}", "r.yml:2: responses: the list is empty, must be a list of responses"},
		{"an entry as text", replaced("responses:\n", "responses:\n  - hello\n"), `r.yml:3: responses[0]: is the text "hello", must be a section with the keys ` + entryKnown},
		{"too many", "version: 1\nresponses: [" + strings.Repeat("a,", maxResponses+1) + "]\ndefault: {content: x}", "r.yml:2: responses: the list has 5001 entries, must have 5000 or fewer"},

		// The entry.
		{"unknown key", answer("contents: hello"), "r.yml:3: responses[0]: has no answer, must have content, variants, synthetic, tool_calls, error or replay\n" +
			"r.yml:5: responses[0].contents: unknown key, did you mean content? Known here: " + entryKnown},
		{"no id", replaced("id: one\n    ", ""), "r.yml:3: responses[0].id: missing, must be the entry's id"},
		{"id twice", replaced("default:", "  - {id: one, match: {exact: ho}, content: x}\ndefault:"), "r.yml:6: responses[1].id: one is the id of the entry on line 3 already, must be unique"},
		{"id of the default", replaced("id: one", "id: default"), "r.yml:3: responses[0].id: default is what the default answer is called, must be another"},

		// The conditions.
		{"no match", replaced("    match: {exact: hi}\n", ""), "r.yml:3: responses[0].match: missing, must be a section with the keys exact, regex, starts_with, contains"},
		{"empty match", match("{}"), "r.yml:4: responses[0].match: has no condition, must have one or more of exact, regex, starts_with, contains"},
		{"empty list of alternatives", match("{exact: []}"), "r.yml:4: responses[0].match.exact: the list is empty, must be a text or a list of texts"},
		{"null condition", match("{contains: }"), "r.yml:4: responses[0].match.contains: is empty, must be a text or a list of texts"},
		{"a number", match("{exact: [a, 7]}"), "r.yml:4: responses[0].match.exact[1]: is the number 7, must be a text or a list of texts; in quotes it is a text"},
		{"unknown condition", match("{exact: a, prefix: b}"), "r.yml:4: responses[0].match.prefix: unknown key; known here: exact, regex, starts_with, contains"},
		{"start with space", match("{starts_with: [a, ' b']}"), `r.yml:4: responses[0].match.starts_with[1]: " b" starts with white space, which is taken off before matching, must be without it`},
		{"bad regex", match("{regex: [a, 'b(']}"), "r.yml:4: responses[0].match.regex[1]: error parsing regexp: missing closing ): `b(`; must be a regular expression of Go (RE2)"},
		{"lookahead", match("{regex: 'a(?=b)'}"), "r.yml:4: responses[0].match.regex: error parsing regexp: invalid or unsupported Perl syntax: `(?=`; must be a regular expression of Go (RE2)"},
		{"group of a built-in name", match("{regex: '(?P<model>a)'}"), "r.yml:4: responses[0].match.regex: the group model has the name of a built-in placeholder, must have another"},

		// The placeholders.
		{"unknown placeholder", answer("content: 'a {x}'"), "r.yml:5: responses[0].content: {x} is no placeholder; known here: last_user_message, model"},
		{
			"misspelt placeholder", "version: 1\nresponses:\n  - id: w\n    match: {regex: '(?P<city>a)'}\n    content: '{citty}'\ndefault: {content: '{city}'}\n",
			"r.yml:5: responses[0].content: {citty} is no placeholder, did you mean {city}? Known here: city, last_user_message, model\n" +
				"r.yml:6: default.content: {city} is no placeholder; known here: last_user_message, model",
		},
		{
			"a group of one regex", "version: 1\nresponses:\n  - id: w\n    match: {regex: ['(?P<city>a)(?P<day>x)', '(?P<city>b)']}\n    content: '{city} {day}'\ndefault: {content: x}\n",
			"r.yml:5: responses[0].content: {day} is a group of only some of the entry's regexes, must be one of each, since any of them may match; known here: city, last_user_message, model",
		},
		{"any name beside a bad regex", strings.Replace(match("{regex: '('}"), "hello", "'{x}'", 1), "r.yml:4: responses[0].match.regex: error parsing regexp: missing closing ): `(`; must be a regular expression of Go (RE2)"},
		{"a single brace", answer(`content: 'say {"a": 1}'`), `r.yml:5: responses[0].content: a single { before "\"a\": 1}", must be doubled where no placeholder is meant` + "\n" +
			`r.yml:5: responses[0].content: a single } before "", must be doubled where no placeholder is meant`},
		{"not closed", answer("content: 'a {model'"), `r.yml:5: responses[0].content: a single { before "model", must be doubled where no placeholder is meant`},
		{"in an argument", answer("tool_calls: [{name: f, arguments: {a: [{b: '{x}'}]}}]"), "r.yml:5: responses[0].tool_calls[0].arguments.a[0].b: {x} is no placeholder; known here: last_user_message, model"},
		{"in an error", answer("error: {status: 500, message: '{x}'}"), "r.yml:5: responses[0].error.message: {x} is no placeholder; known here: last_user_message, model"},
		{"in reasoning", answer("content: a\n    reasoning: '{x}'"), "r.yml:6: responses[0].reasoning: {x} is no placeholder; known here: last_user_message, model"},

		// The answer.
		{"no answer", answer("reasoning: hm"), "r.yml:3: responses[0]: has no answer, must have content, variants, synthetic, tool_calls, error or replay"},
		{"no default answer", replaced("{content: bye}", "{}"), "r.yml:6: default: has no answer, must have content, variants, synthetic, tool_calls, error or replay"},
		{"two answers", answer("content: a\n    synthetic: {tokens: 3}"), "r.yml:6: responses[0].synthetic: stands beside content on line 5, must be one of them"},
		{"content beside variants", answer("variants: [a]\n    content: b"), "r.yml:6: responses[0].content: stands beside variants on line 5, must be one of them"},
		{"no variant", answer("variants: []"), "r.yml:5: responses[0].variants: the list is empty, must be a list of texts or answers"},
		{"variant of variants", answer("variants: [{content: a, variants: [b]}]"), "r.yml:5: responses[0].variants[0].variants: unknown key; known here: " + known},
		{"variant that says nothing", answer("variants: [{reasoning: a}]"), "r.yml:5: responses[0].variants[0]: has no answer, must have content, synthetic, tool_calls, error or replay"},
		{"variant a number", answer("variants: [a, 3]"), "r.yml:5: responses[0].variants[1]: is the number 3, must be a text or a section with the keys " + known + "; in quotes it is a text"},
		{"null content", answer("content:"), "r.yml:5: responses[0].content: is empty, must be a text"},
		{"beside an error", answer("error: {status: 500, message: x}\n    reasoning: y"), "r.yml:6: responses[0].reasoning: has no effect beside error, must be left out"},
		{"finish reason", answer("content: a\n    finish_reason: stopp"), `r.yml:6: responses[0].finish_reason: "stopp" is not known, must be stop, length, tool_calls or content_filter, did you mean stop?`},

		// Lengths.
		{"most before least", answer("synthetic: {tokens: [400, 200]}"), "r.yml:5: responses[0].synthetic.tokens: 400 to 200 is not possible, must be the least first"},
		{"no tokens", answer("synthetic: {tokens: 0}"), "r.yml:5: responses[0].synthetic.tokens: 0 is not possible, must be 1 or more"},
		{"too many tokens", answer("synthetic: {tokens: [1, 1e9]}"), "r.yml:5: responses[0].synthetic.tokens[1]: 1e9 is not possible, must be 16777216 or less"},
		{"three lengths", answer("synthetic: {tokens: [1, 2, 3]}"), "r.yml:5: responses[0].synthetic.tokens: the list has 3 items, must be a number of tokens, or a list of the least and the most"},
		{"a length of text", answer("reasoning: {tokens: many}\n    content: a"), `r.yml:5: responses[0].reasoning.tokens: is the text "many", must be a whole number from 1 to 16777216`},
		{"a section of tokens", answer("synthetic: {tokens: {min: 1}}"), "r.yml:5: responses[0].synthetic.tokens: is a section, must be a number of tokens, or a list of the least and the most"},
		{"no section", answer("synthetic: 3"), "r.yml:5: responses[0].synthetic: is the number 3, must be a section with the keys tokens"},
		{"tokens missing", answer("synthetic: {}"), "r.yml:5: responses[0].synthetic.tokens: missing, must be a number of tokens, or a list of the least and the most"},

		// Errors and tools.
		{"status too low", answer("error: {status: 399, message: x}"), "r.yml:5: responses[0].error.status: 399 is not possible, must be 400 or more"},
		{"status too high", answer("error: {status: 600, message: x}"), "r.yml:5: responses[0].error.status: 600 is not possible, must be 599 or less"},
		{
			"what an error needs", answer("error: {retry_after: 0, kind: x}"),
			"r.yml:5: responses[0].error.kind: unknown key; known here: status, message, type, code, retry_after\n" +
				"r.yml:5: responses[0].error.status: missing, must be a whole number from 400 to 599\n" +
				"r.yml:5: responses[0].error.message: missing, must be what the error says\n" +
				"r.yml:5: responses[0].error.retry_after: 0 is not possible, must be 1 or more",
		},
		{"no tools", answer("tool_calls: []"), "r.yml:5: responses[0].tool_calls: the list is empty, must be a list of calls"},
		{"no tool's name", answer("tool_calls: [{arguments: {}}]"), "r.yml:5: responses[0].tool_calls[0].name: missing, must be the tool's name"},
		{"arguments that are a list", answer("tool_calls: [{name: a, arguments: [1]}]"), "r.yml:5: responses[0].tool_calls[0].arguments: is a list, must be a section, or JSON as a text"},
		{"not JSON", answer("tool_calls: [{name: a, arguments: {x: .nan, y: 2001-01-01}}]"), "r.yml:5: responses[0].tool_calls[0].arguments.x: is the number .nan, must be something JSON has; in quotes it is a text\n" +
			`r.yml:5: responses[0].tool_calls[0].arguments.y: is "2001-01-01" of the type !!timestamp, must be something JSON has; in quotes it is a text`},
		{"argument twice", answer("tool_calls: [{name: a, arguments: {x: 1, x: 2}}]"), "r.yml:5: responses[0].tool_calls[0].arguments.x: duplicate key, first on line 5, must be there once"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			r, err := ParseResponses("r.yml", []byte(tc.file))
			if err == nil {
				t.Fatalf("no error, but %s", dumpAny(r))
			}
			if err.Error() != tc.want {
				t.Errorf("error reads\n%s\nwant\n%s", err, tc.want)
			}
		})
	}
}
