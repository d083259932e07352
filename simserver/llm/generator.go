package llm

import (
	"fmt"

	"llmsim-bench/simserver/plan"
)

// DefaultOutputTokens is how long an answer is when the request does not say.
const DefaultOutputTokens = 128

// Options are a generator's parameters.
type Options struct {
	// ContextLength bounds prompt and answer together, in tokens.
	ContextLength int
	// Seed chooses the answers of requests that bring no seed of their own.
	Seed int64
	// TokensPerMessage and TokensPerRequest are what a chat template adds
	// around each message and around the whole.
	TokensPerMessage, TokensPerRequest int
	// DefaultOutputTokens is the length of an answer whose request gives none;
	// 0 means the constant of that name.
	DefaultOutputTokens int
	// Tokenizer splits prompts and answers; nil: the regex tokenizer.
	Tokenizer Tokenizer
	// Model is what scripted responses call the model.
	Model string
	// Responses holds what to answer; nil or empty: filler.
	Responses *ResponseBook
}

// Message is one message of a chat.
type Message struct{ Role, Text string }

// Request is what a generator is asked.
type Request struct {
	Messages []Message
	// MaxTokens is how many tokens to answer with; 0: not given.
	MaxTokens int
	// MinTokens is how many tokens to answer with at least, at most MaxTokens where
	// that is given.
	MinTokens int
	// IgnoreEOS asks for an answer of MaxTokens tokens whatever it says. Filler is
	// that long already.
	IgnoreEOS bool
	// Seed, where given, takes the place of the generator's and of the responses'.
	Seed *int64
}

// Generator answers requests, from responses if there are some, else with filler.
// It is safe for concurrent use.
type Generator struct {
	options Options
	filler  *vocabulary
}

// NewGenerator returns a generator.
func NewGenerator(o Options) *Generator {
	if o.DefaultOutputTokens == 0 {
		o.DefaultOutputTokens = DefaultOutputTokens
	}
	if o.Tokenizer == nil {
		o.Tokenizer = regexTokenizer{}
	}
	return &Generator{options: o, filler: newVocabulary(o.Tokenizer)}
}

// Generate plans the answer to r.
//
// With responses it is what the first matching entry says to the last user message,
// at most MaxTokens tokens of it, or as many as the context has room for: past them
// it ends for "length". Where it has fewer than MinTokens tokens, filler is added to
// the content; with IgnoreEOS, up to MaxTokens. An entry that says that the request
// fails makes a *ScriptedError.
//
// Without, the answer is filler: exactly MaxTokens tokens that end for "length", or,
// where it is not given, the default number of tokens (fewer where the context has
// less room, MinTokens where that is more) that end with "stop".
//
// A request that the context cannot hold is a *ContextError, known before any
// answer is made.
func (g *Generator) Generate(r Request) (*plan.Plan, error) {
	if r.MaxTokens < 0 {
		return nil, fmt.Errorf("max tokens is %d, must be 1 or more, or 0 for the default", r.MaxTokens)
	}
	asked := max(r.MaxTokens, r.MinTokens)
	prompt := g.promptIDs(r.Messages)
	room := g.options.ContextLength - len(prompt)
	if room < max(asked, 1) {
		return nil, &ContextError{
			PromptTokens: len(prompt), MaxTokens: asked, ContextLength: g.options.ContextLength,
		}
	}
	p := &plan.Plan{Prompt: prompt, MaxTokens: r.MaxTokens}
	if r.MaxTokens == 0 {
		p.MaxTokens = room
	}
	if responses := g.options.Responses.Get(); responses != nil {
		if err := responses.answer(p, g, r); err != nil {
			return nil, err
		}
		return p, nil
	}
	p.Choices = []plan.Choice{g.fillerChoice(r, prompt, room)}
	return p, nil
}

// fillerChoice is the answer without responses.
func (g *Generator) fillerChoice(r Request, prompt []plan.TokenID, room int) plan.Choice {
	length, reason := r.MaxTokens, "length"
	if length == 0 {
		length, reason = max(min(g.options.DefaultOutputTokens, room), r.MinTokens), "stop"
	}
	seed := g.options.Seed
	if r.Seed != nil {
		seed = *r.Seed
	}
	return plan.Choice{
		Tokens:       g.filler.text(uint64(seed), promptHash(prompt), g.filler.opening, length),
		FinishReason: reason,
	}
}

// promptIDs returns the ids of the messages' tokens in order: each message's
// template tokens before its text, the request's at the end, where a template
// opens the answer.
func (g *Generator) promptIDs(messages []Message) []plan.TokenID {
	// Prose has four to five bytes a token; append grows the rest.
	size := g.options.TokensPerRequest
	for _, m := range messages {
		size += g.options.TokensPerMessage + len(m.Text)/4 + 1
	}
	ids := make([]plan.TokenID, 0, size)
	for _, m := range messages {
		ids = appendTemplate(ids, m.Role, g.options.TokensPerMessage)
		ids = g.options.Tokenizer.AppendIDs(ids, m.Text)
	}
	return appendTemplate(ids, "", g.options.TokensPerRequest)
}

// appendTemplate appends n ids for a template's tokens. They depend on the
// role, so that prompts that differ in a role differ in their ids.
func appendTemplate(ids []plan.TokenID, role string, n int) []plan.TokenID {
	for i := range n {
		ids = append(ids, tokenID(role)^plan.TokenID(i))
	}
	return ids
}

// ContextError says that a request does not fit the model's context.
type ContextError struct {
	PromptTokens, ContextLength int
	// MaxTokens is what the request asked for; 0: not given.
	MaxTokens int
}

// Error has the words that clients of OpenAI's and vLLM's servers look for.
func (e *ContextError) Error() string {
	if e.MaxTokens == 0 {
		return fmt.Sprintf("This model's maximum context length is %d tokens. However, your messages resulted in %d tokens, "+
			"which leaves no room for a completion. Please reduce the length of the messages.",
			e.ContextLength, e.PromptTokens)
	}
	// Unsigned, since the sum may be past the largest int.
	requested := uint64(e.PromptTokens) + uint64(e.MaxTokens)
	return fmt.Sprintf("This model's maximum context length is %d tokens. However, you requested %d tokens "+
		"(%d in the messages, %d in the completion). Please reduce the length of the messages or completion.",
		e.ContextLength, requested, e.PromptTokens, e.MaxTokens)
}
