package api

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"llmsim-bench/simserver/llm"
	"llmsim-bench/simserver/plan"
)

// Marks stand in the template of an event for what differs from token to token. The
// text's comes first in an event, the usage's last.
const (
	textMark     = "\x00"
	logprobsMark = "\x00logprobs"
	usageMark    = "\x00usage"
)

// eventRenderer renders token events of one form. It copies the constant parts of
// the event from a template, so that a token costs its own text only.
type eventRenderer struct {
	// head is what stands before the text, the others what follows the mark of the
	// name, as far as the event has it; else they are nil.
	head, text, logprobs, usage []byte
}

// newEventRenderer takes an event with a mark for its text, and further ones if it
// has those.
func newEventRenderer(event any, logprobs, usage bool) eventRenderer {
	var r eventRenderer
	rest := appendEvent(nil, marshal(event))
	// From the end on, so that no name before the text is taken for a mark.
	if usage {
		rest, r.usage = cutMark(rest, usageMark)
	}
	if logprobs {
		rest, r.logprobs = cutMark(rest, logprobsMark)
	}
	r.head, r.text = cutMark(rest, textMark)
	return r
}

// cutMark returns what stands before and after the last mark of the name.
func cutMark(event []byte, mark string) (before, after []byte) {
	quoted := marshal(mark)
	at := bytes.LastIndex(event, quoted)
	return event[:at:at], event[at+len(quoted):]
}

// appendToken appends the event for one token, framed.
func (r *eventRenderer) appendToken(dst []byte, f framing, text string, c *choiceRenderer) []byte {
	start := f.begin(&dst)
	dst = append(dst, r.head...)
	dst = appendQuoted(dst, text)
	dst = append(dst, r.text...)
	if r.logprobs != nil {
		dst = c.appendLogprobs(dst)
		dst = append(dst, r.logprobs...)
	}
	if r.usage != nil {
		dst = c.answer.appendRunningUsage(dst)
		dst = append(dst, r.usage...)
	}
	return f.end(dst, start)
}

// choiceRenderer renders the token events of one choice, in order.
type choiceRenderer struct {
	answer             *answer
	content, reasoning eventRenderer
	calls              []callRenderer
	call               int // that the last arguments were of

	at     []plan.Token // the token at hand, alone
	place  int          // its index
	said   int          // characters of content before it
	likely []llm.Alternative
}

// callRenderer renders a tool call: the first event has its id and name.
type callRenderer struct{ first, next eventRenderer }

// newChoiceRenderer makes the templates that a choice needs.
func newChoiceRenderer(a *answer, choice int) *choiceRenderer {
	c, form := &a.request.Plan.Choices[choice], a.order.form
	r := &choiceRenderer{answer: a}
	template := func(of any) eventRenderer { return newEventRenderer(a.chunk(of, usageMark), false, a.order.everyUsage) }
	content := a.chunk(form.token(choice, plan.Content, a.order.logprobs()), usageMark)
	r.content = newEventRenderer(content, a.order.logprobs(), a.order.everyUsage)
	if c.Tokens[0].Kind == plan.Reasoning {
		r.reasoning = template(form.token(choice, plan.Reasoning, false))
	}
	for i := range c.ToolCalls {
		r.calls = append(r.calls, callRenderer{template(form.call(choice, i, &c.ToolCalls[i])), template(form.call(choice, i, nil))})
	}
	return r
}

// appendToken appends the event for the token with an index of a choice.
func (r *choiceRenderer) appendToken(dst []byte, f framing, c *plan.Choice, index int) []byte {
	r.at, r.place = c.Tokens[index:index+1], index
	events := &r.content
	switch r.at[0].Kind {
	case plan.Content:
	case plan.Reasoning:
		events = &r.reasoning
	case plan.Arguments:
		for index >= c.ToolCalls[r.call].End {
			r.call++
		}
		events = &r.calls[r.call].next
		if index == c.ToolCalls[r.call].Start {
			events = &r.calls[r.call].first
		}
	}
	return events.appendToken(dst, f, r.at[0].Text, r)
}

// appendLogprobs appends those of the token at hand.
func (r *choiceRenderer) appendLogprobs(dst []byte) []byte {
	o := r.answer.order
	dst = o.form.appendLogprobs(dst, r.at, r.place, r.said, o.alternatives, &r.likely)
	r.said += utf8.RuneCountInString(r.at[0].Text)
	return dst
}

// appendRunningUsage appends the usage so far, of all choices.
func (a *answer) appendRunningUsage(dst []byte) []byte {
	dst = append(dst, `{"prompt_tokens":`...)
	dst = strconv.AppendInt(dst, int64(a.usage.PromptTokens), 10)
	dst = append(dst, `,"completion_tokens":`...)
	dst = strconv.AppendInt(dst, int64(a.prepares), 10)
	dst = append(dst, `,"total_tokens":`...)
	dst = strconv.AppendInt(dst, int64(a.usage.PromptTokens+a.prepares), 10)
	return append(dst, '}')
}
