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
}

// Choice is one answer.
type Choice struct {
	Tokens []Token
	// FinishReason is OpenAI's: "stop", "length", …
	FinishReason string
}

// Token is one output token.
type Token struct {
	ID   TokenID
	Text string
}

// TokenEvent places one token on the simulated timeline.
type TokenEvent struct {
	// Choice and Index say which token: Plan.Choices[Choice].Tokens[Index].
	Choice, Index int
	// Due is when the token is due, in nanoseconds of the engine's clock.
	Due int64
}

// OutputTokens counts the tokens of all choices.
func (p *Plan) OutputTokens() int {
	n := 0
	for i := range p.Choices {
		n += len(p.Choices[i].Tokens)
	}
	return n
}
