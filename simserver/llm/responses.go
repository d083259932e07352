package llm

import (
	"fmt"
	"regexp"
	"sync/atomic"
)

// Script is what models say to whom, as plain values.
type Script struct {
	// Seed chooses among variants where a request brings no seed.
	Seed int64
	// Entries are tried in order; the first whose Match holds answers.
	Entries []Entry
	// Default answers what no entry matches.
	Default []Body
}

// DefaultEntry is the id under which a script's default answers.
const DefaultEntry = "default"

// Entry answers the texts that match. Of several bodies each request gets one, by
// a hash of seed, entry id and text.
type Entry struct {
	ID     string
	Match  Match
	Bodies []Body
}

// Match is what a text must meet: of each condition that is given any alternative,
// and all the conditions. An empty list is a condition that is not given.
type Match struct {
	Exact, StartsWith, Contains []string
	Regexes                     []*regexp.Regexp
}

// Body is one answer: an error, or else reasoning, content and tool calls, each of
// which may be absent.
type Body struct {
	Reasoning, Content Text
	ToolCalls          []ToolCall
	// FinishReason is that of an answer that is not cut short; empty: "tool_calls"
	// where there are some, else "stop".
	FinishReason string
	// Error, if not nil, takes the place of an answer.
	Error *ErrorBody
	// Timing, if not nil, is when the parts of a recorded answer came. Its parts are
	// plain texts, and Timing has as many calls.
	Timing *Timing
	// Also holds a recorded answer's further choices. Where a request wants several,
	// they say this, then these in turn, and so on.
	Also []Body
}

// ofChoice is what the i-th choice of a request says.
func (b *Body) ofChoice(i int) *Body {
	if i %= 1 + len(b.Also); i > 0 {
		return &b.Also[i-1]
	}
	return b
}

// Text is a template, or filler of MinTokens to MaxTokens tokens where MaxTokens
// is not 0.
type Text struct {
	Template             Template
	MinTokens, MaxTokens int
}

// ToolCall is a call that an answer makes. With JSON set, what its placeholders
// stand for is escaped as within a JSON string. Without an ID it gets one of its own.
type ToolCall struct {
	ID, Name  string
	Arguments Template
	JSON      bool
}

// ErrorBody is what a request gets instead of an answer.
type ErrorBody struct {
	Status     int
	Message    Template
	Type, Code string
	RetryAfter int
}

// ScriptedError is what Generate returns where a script says that the request
// fails.
type ScriptedError struct {
	// Entry is the id of the entry that says so, Variant which of its bodies.
	Entry   string
	Variant int
	// Status is HTTP's, from 400 to 599.
	Status  int
	Message string
	// Type and Code are those of OpenAI's error object; empty: not given.
	Type, Code string
	// RetryAfter is in seconds; 0: not given.
	RetryAfter int
}

// Error is the message that the client gets.
func (e *ScriptedError) Error() string { return e.Message }

// Responses is a script made ready to answer from. It is immutable.
type Responses struct {
	script  Script
	matcher *matcher
}

// NewResponses compiles a script, whose lists must not change any more.
func NewResponses(s Script) *Responses {
	matches := make([]Match, len(s.Entries))
	for i := range s.Entries {
		matches[i] = s.Entries[i].Match
	}
	return &Responses{script: s, matcher: newMatcher(matches)}
}

// String says how large the script is, for a log.
func (r *Responses) String() string {
	return fmt.Sprintf("%d responses, %d literals", len(r.script.Entries), len(r.matcher.triggers))
}

// ResponseBook holds the responses that the generators sharing it answer from, and
// lets them be exchanged while requests are answered: a request is answered from
// one set as a whole. The zero value holds none.
type ResponseBook struct{ current atomic.Pointer[Responses] }

// Set makes r the responses of all later requests; nil: none, so that they get
// filler.
func (b *ResponseBook) Set(r *Responses) { b.current.Store(r) }

// Get returns the responses of the moment; nil: none. A nil book has none.
func (b *ResponseBook) Get() *Responses {
	if b == nil {
		return nil
	}
	return b.current.Load()
}
