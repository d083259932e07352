package llm

import (
	"llmsim-bench/simserver/llm/schema"
	"llmsim-bench/simserver/plan"
)

// Message is one message of a chat.
type Message struct{ Role, Text string }

// Schema is a compiled JSON Schema, for which values can be made.
type Schema = schema.Schema

// CompileSchema reads a JSON Schema. The error names the place in it.
func CompileSchema(raw []byte) (*Schema, error) {
	defer longWork.end(longWork.enter())
	return schema.Compile(raw)
}

// Tool is a function that an answer may call. Its arguments fit Parameters.
type Tool struct {
	Name       string
	Parameters *Schema
}

// Request is what a generator is asked.
type Request struct {
	Messages []Message
	// Preamble is text that stands before the messages, such as the definitions of
	// tools. It counts as prompt, without template tokens of its own.
	Preamble string
	// Raw says that the messages' texts are the prompt as they are, without a
	// template.
	Raw bool
	// PromptIDs, if not nil, is the prompt, in place of all the above.
	PromptIDs []plan.TokenID

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
	// N is how many choices to make, each on its own; 0: one.
	N int
	// Stop ends a choice where its content would hold one of these texts, none of
	// which is empty. With KeepStop that text is said still.
	Stop     []string
	KeepStop bool

	// ReasoningTokens is how many tokens are thought before the content.
	ReasoningTokens int
	// Schema, if not nil, is what the content has to fit, as JSON.
	Schema *Schema
	// Calls, if there are some, demands a call of one of them in place of content.
	Calls []Tool
	// NoCalls forbids the calls that responses make, and NoReasoning what they think.
	NoCalls, NoReasoning bool
	// Unscripted says that no responses are asked what to say.
	Unscripted bool
	// Take, if not nil, is asked of each choice once it is made. Its error ends the
	// planning: it is what bounds an answer's size.
	Take func(c *plan.Choice) error
}

// finish is what is done with each choice that was made.
func (r *Request) finish(c *plan.Choice) error {
	r.endAtStop(c)
	if r.Take == nil {
		return nil
	}
	return r.Take(c)
}

// choices is how many there are to make.
func (r *Request) choices() int { return max(1, r.N) }

// demands says whether the answer has to have a form.
func (r *Request) demands() bool { return r.Schema != nil || len(r.Calls) > 0 }
