package api

import (
	"encoding/json"

	"llmsim-bench/simserver/llm"
	"llmsim-bench/simserver/plan"
)

// form is how the choices of one API's answers look.
type form interface {
	names() formNames
	// opening is the event before a choice's first token; nil: there is none.
	opening(choice int) any
	// token is the event of a token, with marks for its text and, if wanted, its
	// logprobs.
	token(choice int, kind plan.Kind, logprobs bool) any
	// call is the event of a token of a tool call's arguments, with a mark for its
	// text. The call itself stands in its first event, and is nil in the others.
	call(choice, index int, call *plan.ToolCall) any
	// finish is the event after a choice's last token.
	finish(choice int, reason string) any
	// whole is a choice that is not streamed. logprobs is nil where none are wanted.
	whole(choice int, c *plan.Choice, logprobs json.RawMessage) any
	// appendLogprobs appends those of neighbouring tokens: with so many alternatives,
	// the first of them at a place in the answer, after so many characters of text.
	appendLogprobs(dst []byte, tokens []plan.Token, place, offset, alternatives int, scratch *[]llm.Alternative) []byte
}

// formNames are what an API's objects and parameters are called.
type formNames struct {
	idPrefix, chunk, whole string
	alternatives           string // the parameter that asks for them
}

// order is what a request asks for, whatever its API.
type order struct {
	model   string
	request llm.Request
	form    form
	// promptField is the parameter that is at fault where the prompt is.
	promptField string
	priority    int

	streamed, wantUsage bool
	// everyUsage: every event has the usage so far.
	everyUsage bool
	// alternatives to tell for each token of the content; noLogprobs: not even that
	// token's own probability.
	alternatives int
	// embeddings take the place of text; nil: text.
	embeddings *embeddings
}

const noLogprobs = -1

func (o *order) logprobs() bool { return o.alternatives != noLogprobs }

// textOf joins a choice's tokens of one kind; nil: there are none.
func textOf(tokens []plan.Token, kind plan.Kind) *string {
	var b []byte
	found := false
	for i := range tokens {
		if tokens[i].Kind == kind {
			found = true
			b = append(b, tokens[i].Text...)
		}
	}
	if !found {
		return nil
	}
	s := string(b)
	return &s
}
