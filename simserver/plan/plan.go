// Package plan is what crosses between the simulator's halves: the generator
// hands an engine a Plan, and an engine hands back one TokenEvent a token. It
// carries no HTTP, no configuration and no clock.
package plan

// TokenID identifies a token's content. It is opaque: equal ids mean equal
// tokens (prefix caches hash them), nothing else.
type TokenID uint32

// Plan says what one request gets. Engines read ids and counts, never text.
type Plan struct {
	// Prompt holds the ids of the prompt's tokens, template overhead included.
	Prompt []TokenID
	// Choices holds one or more answers.
	Choices []Choice
	// MaxTokens is how many tokens the client allows each choice. An answer may
	// stop earlier by itself.
	MaxTokens int
	// Priority orders requests under a priority policy; lower is served first.
	Priority int
	// Entry is the id of the scripted response that answers; empty: filler.
	// Variant says which of its variants, from 0.
	Entry   string
	Variant int
}

// Choice is one answer.
type Choice struct {
	// Tokens holds at least one token: those of the reasoning first, then those
	// of the content, then the arguments of each tool call in turn. Each of the
	// three may be absent.
	Tokens []Token
	// ToolCalls holds the calls that were begun, in the order of their tokens.
	ToolCalls []ToolCall
	// FinishReason is OpenAI's: "stop", "length", "tool_calls", …
	FinishReason string
	// Offsets, where given, says when each token is due, in nanoseconds of the
	// simulated timeline after the request's arrival: one a token, none below 0 or
	// below the one before. All choices of a plan have offsets, or none has.
	Offsets []int64
}

// Token is one output token.
type Token struct {
	ID   TokenID
	Kind Kind
	Text string
}

// Kind says which part of an answer a token belongs to.
type Kind uint8

// The parts of an answer, of which the content is the usual one.
const (
	Content Kind = iota
	Reasoning
	Arguments // of a tool call
)

// ToolCall is a call that an answer makes. Its arguments are the texts of
// Choice.Tokens[Start:End] joined: at least one token, of the kind Arguments. Its
// id and name cost no token; they are due with the first. Where the answer's length
// cut it short, the arguments are cut short too.
type ToolCall struct {
	ID, Name   string
	Start, End int
}

// TokenEvent places one token on the simulated timeline.
type TokenEvent struct {
	// Choice and Index say which token: Plan.Choices[Choice].Tokens[Index].
	Choice, Index int
	// Due is when the token is due, in nanoseconds of the engine's clock.
	Due int64
}

// Timed says that the answer brings its own timeline.
func (p *Plan) Timed() bool { return len(p.Choices) > 0 && p.Choices[0].Offsets != nil }

// OutputTokens counts the tokens of all choices.
func (p *Plan) OutputTokens() int {
	n := 0
	for i := range p.Choices {
		n += len(p.Choices[i].Tokens)
	}
	return n
}

// Content returns where the tokens of the choice's content are.
func (c *Choice) Content() (from, to int) {
	for from < len(c.Tokens) && c.Tokens[from].Kind != Content {
		from++
	}
	for to = from; to < len(c.Tokens) && c.Tokens[to].Kind == Content; {
		to++
	}
	return from, to
}
