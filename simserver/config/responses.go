package config

import (
	"fmt"
	"os"
	"regexp"

	"gopkg.in/yaml.v3"
)

// Responses is a whole responses.yml: what the simulated models say.
type Responses struct {
	// Seed chooses among variants where a request brings no seed.
	Seed int64
	// Entries are in the order in which they are tried; no two share an id.
	Entries []Response
	// Default holds the answers of a text that no entry matches, at least one.
	Default []Body
	// Warnings say, each with its place in the file, what is allowed and hardly
	// meant, such as an entry that no text can reach.
	Warnings []string
}

// DefaultID is what stands for an id in the default answer, and no entry's own.
const DefaultID = "default"

// Response is one entry.
type Response struct {
	// Where says where the entry stands, as "responses.yml:12: responses[0]".
	Where string
	ID    string
	Match Match
	// Bodies holds at least one answer. Only several make a choice.
	Bodies []Body
}

// Match is what a text must meet: of each condition that is given any alternative,
// and all the conditions. An empty list is a condition that is not given; at least
// one is. The text is without the white space around it, and so is Exact.
type Match struct {
	Exact, StartsWith, Contains []string
	// Regexes are searched in the text, the first that matches names the groups.
	Regexes []*regexp.Regexp
}

// Body is one answer: an error, a recorded answer, or whatever of reasoning, content
// and tool calls there is, in this order.
type Body struct {
	Reasoning, Content Text
	ToolCalls          []ToolCall
	// FinishReason is one of finishReasons; empty: "tool_calls" for an answer with
	// some, else "stop".
	FinishReason string
	// Error, if not nil, takes the place of an answer.
	Error *ScriptedError
	// Replay, if not nil, takes the place of everything else.
	Replay *Replay
}

// Text is a template, or filler of MinTokens to MaxTokens tokens where MaxTokens
// is not 0.
type Text struct {
	Template             Template
	MinTokens, MaxTokens int
}

// Template is a text with placeholders, in parts to be joined. Each names a group
// that all regexes of its entry have, or is one of the built-in placeholders.
type Template []Part

// Part is Text, or what the placeholder of this name stands for.
type Part struct{ Text, Placeholder string }

// ToolCall is a call of the answer.
type ToolCall struct {
	Name      string
	Arguments Template
	// JSON says that the arguments are JSON whose strings the placeholders stand
	// in, so that what replaces them must be escaped as there.
	JSON bool
}

// ScriptedError is an answer that fails.
type ScriptedError struct {
	Status     int // 400 to 599
	Message    Template
	Type, Code string // empty: not given
	RetryAfter int    // seconds; 0: not given
}

// The placeholders that every template may use.
const (
	PlaceholderUserMessage = "last_user_message"
	PlaceholderModel       = "model"
)

// Limits of what a responses file may say.
const (
	maxResponses         = 5000
	maxSeed              = 1 << 53
	maxScriptedTokens    = maxContextLength
	minStatus, maxStatus = 400, 599
	maxRetryAfter        = 86_400 // a day
)

var finishReasons = []string{"stop", "length", "tool_calls", "content_filter"}

// LoadResponses reads a responses.yml.
func LoadResponses(path string) (*Responses, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the responses file: %w", err)
	}
	return ParseResponses(path, data)
}

// ParseResponses reads the bytes of a responses.yml; name is what errors and
// warnings call the file.
func ParseResponses(name string, data []byte) (*Responses, error) {
	r := &reader{file: name}
	c := &Responses{}
	if root := r.document(data, "the sections version and default"); root != nil {
		c.read(r, root)
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	c.Warnings = unreachable(c.Entries)
	return c, nil
}

func (c *Responses) read(r *reader, root *yaml.Node) {
	keys := []string{"version", "seed", "responses", "default"}
	file := r.section(root, "", keys)
	if file == nil {
		return
	}
	file.allow("", keys)
	if n, ok := file.finite("version", "1"); ok && n != 1 {
		file.refuse("version", "%s is not known, must be 1", file.values["version"].Value)
	}
	if seed := file.optionalInt64("seed", -maxSeed, maxSeed); seed != nil {
		c.Seed = *seed
	}
	c.Entries = readResponses(r, file)
	if s := file.subsection("default", defaultKeys); s != nil {
		s.allow("", defaultKeys)
		c.Default = s.bodies(scope{})
	}
}

// readResponses reads the entries; a file may have none.
func readResponses(r *reader, file *section) (entries []Response) {
	if !file.has("responses") {
		return nil
	}
	nodes := file.list("responses", "a list of responses")
	if len(nodes) > maxResponses {
		file.refuse("responses", "the list has %d entries, must have %d or fewer", len(nodes), maxResponses)
		return nil
	}
	firstLine := make(map[string]int) // of each id
	for i, node := range nodes {
		path := fmt.Sprintf("responses[%d]", i)
		s := r.section(node, path, entryKeys)
		if s == nil {
			continue
		}
		s.allow("", entryKeys)
		e := Response{Where: r.where(node.Line, path), ID: s.text("id", "the entry's id")}
		match, groups := s.match()
		e.Match, e.Bodies = match, s.bodies(groups)
		entries = append(entries, e)
		switch line, used := firstLine[e.ID]; {
		case e.ID == "": // reported
		case e.ID == DefaultID:
			s.refuse("id", "%s is what the default answer is called, must be another", DefaultID)
		case used:
			s.refuse("id", "%s is the id of the entry on line %d already, must be unique", e.ID, line)
		default:
			firstLine[e.ID] = node.Line
		}
	}
	return entries
}
