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
	// SplitCharacters leaves each token of an answer its own bytes, so that its text
	// may end inside a character.
	SplitCharacters bool
	// Model is what scripted responses call the model.
	Model string
	// Responses holds what to answer; nil or empty: filler.
	Responses *ResponseBook
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
	g := &Generator{filler: newVocabulary(o.Tokenizer)}
	o.Tokenizer = gatedTokenizer{o.Tokenizer, longWork, o.SplitCharacters}
	g.options = o
	return g
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
// less room, MinTokens where that is more) that end with "stop". The tokens of the
// reasoning come before that number, and within MaxTokens.
//
// A value or a call that the request demands takes the place of filler, and that of
// the responses' default; it is as long as it is, unless MaxTokens cuts it. What an
// entry says to a text that it matches stays.
//
// A request that the context cannot hold is a *ContextError, known before any
// answer is made. An error of r.Take is returned as it is.
func (g *Generator) Generate(r Request) (*plan.Plan, error) {
	if r.MaxTokens < 0 {
		return nil, fmt.Errorf("max tokens is %d, must be 1 or more, or 0 for the default", r.MaxTokens)
	}
	asked := max(r.MaxTokens, r.MinTokens)
	prompt := g.promptIDs(&r)
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
	var err error
	if responses := g.options.Responses.Get(); responses != nil && !r.Unscripted {
		err = responses.answer(p, g, &r)
	} else {
		p.Choices, err = g.ownChoices(&r, prompt, room)
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// promptIDs returns the ids of a prompt's tokens in order: the preamble's, each
// message's template tokens before its text, the request's at the end, where a
// template opens the answer.
func (g *Generator) promptIDs(r *Request) []plan.TokenID {
	if r.PromptIDs != nil {
		return r.PromptIDs
	}
	perMessage, perRequest := g.options.TokensPerMessage, g.options.TokensPerRequest
	if r.Raw {
		perMessage, perRequest = 0, 0
	}
	// Prose has four to five bytes a token; append grows the rest.
	size := perRequest + len(r.Preamble)/4
	for _, m := range r.Messages {
		size += perMessage + len(m.Text)/4 + 1
	}
	ids := g.options.Tokenizer.AppendIDs(make([]plan.TokenID, 0, size), r.Preamble)
	for _, m := range r.Messages {
		ids = appendTemplate(ids, m.Role, perMessage)
		ids = g.options.Tokenizer.AppendIDs(ids, m.Text)
	}
	return appendTemplate(ids, "", perRequest)
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
