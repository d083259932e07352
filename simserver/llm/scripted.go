package llm

import (
	"strings"

	"llmsim-bench/simserver/plan"
)

// textBytesPerToken bounds the text that is made for an answer of so many tokens,
// since a template may repeat a long message: no vocabulary has longer tokens, and
// what a text has past it, it loses as if the tokens had run out.
const (
	textBytesPerToken = 256
	leastTextBytes    = 64 << 10
	mostTextBytes     = 16 << 20
)

// scripted is one request's answer from a script.
type scripted struct {
	tokenizer Tokenizer
	filler    *vocabulary
	values    values
	digest    digest
	limit     int  // tokens
	cut       bool // something was left out for the limit
}

// answer fills in what of p a script says to a request; an error is a
// *ScriptedError, or one of q.Take. p.MaxTokens is how many tokens there may be.
func (r *Responses) answer(p *plan.Plan, g *Generator, q *Request) (err error) {
	raw := lastUserMessage(q.Messages)
	text := strings.TrimFunc(raw, isSpace)
	f := r.matcher.match(text)
	id, bodies := DefaultEntry, r.script.Default
	if f.entry >= 0 {
		id, bodies = r.script.Entries[f.entry].ID, r.script.Entries[f.entry].Bodies
	}
	if len(bodies) == 0 {
		bodies = []Body{{}}
	}
	seed := r.script.Seed
	if q.Seed != nil {
		seed = *q.Seed
	}
	p.Entry = id
	said := values{userMessage: raw, model: g.options.Model, text: text, found: f}
	request := newDigest(seed, id, text)
	for i := range q.choices() {
		s := scripted{tokenizer: g.options.Tokenizer, filler: g.filler, values: said, digest: request.ofChoice(i), limit: p.MaxTokens}
		variant := int(s.digest.draw(drawVariant) % uint64(len(bodies)))
		switch {
		case i == 0:
			p.Variant = variant
		case bodies[p.Variant].Timing != nil:
			variant = p.Variant // whose timeline is the request's
		default:
			variant = answering(bodies, variant)
		}
		body := bodies[variant].ofChoice(i)
		if e := body.Error; e != nil {
			message, _ := e.Message.render(&s.values, false, leastTextBytes)
			return &ScriptedError{
				Entry: id, Variant: variant, Status: e.Status, Message: message,
				Type: e.Type, Code: e.Code, RetryAfter: e.RetryAfter,
			}
		}
		if f.entry < 0 && q.demands() {
			p.Choices, err = g.ownChoices(q, p.Prompt, p.MaxTokens)
			return err
		}
		c := s.choice(body, q)
		if i > 0 && !p.Timed() {
			c.Offsets = nil
		}
		if err := q.finish(&c); err != nil {
			return err
		}
		p.Choices = append(p.Choices, c)
	}
	return nil
}

// answering is the first body from i on that is an answer and no error. The first
// choice decides whether a request fails; it did not, so there is one.
func answering(bodies []Body, i int) int {
	for bodies[i].Error != nil {
		i = (i + 1) % len(bodies)
	}
	return i
}

// lastUserMessage is the text of the last message of the role user; empty: none.
func lastUserMessage(messages []Message) string {
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role == "user" {
			return messages[i].Text
		}
	}
	return ""
}

func isSpace(r rune) bool { return kindOf(r) == space }

// choice puts a body's parts together. Where the answer is shorter than the
// request wants, filler makes up for it at the end of the content.
func (s *scripted) choice(body *Body, q *Request) (c plan.Choice) {
	thought := body.Reasoning
	if len(thought.Template) == 0 && thought.MaxTokens == 0 && body.Timing == nil {
		thought.MinTokens, thought.MaxTokens = q.ReasoningTokens, q.ReasoningTokens
	}
	if !q.NoReasoning {
		c.Tokens = s.part(nil, thought, plan.Reasoning, drawReasoningLength)
	}
	reasoning := len(c.Tokens)
	c.Tokens = s.part(c.Tokens, body.Content, plan.Content, drawContentLength)
	var calls []plan.ToolCall
	var arguments []plan.Token
	if !q.NoCalls {
		calls, arguments = s.toolCalls(body.ToolCalls)
	}

	wanted := q.MinTokens
	if q.IgnoreEOS {
		wanted = max(wanted, q.MaxTokens)
	}
	missing := wanted - len(c.Tokens) - len(arguments)
	if missing > 0 && !s.cut {
		words := s.filler.opening
		if len(c.Tokens) > reasoning {
			words = s.filler.sentence
		}
		seed := s.digest.draw(drawExtension)
		c.Tokens = append(c.Tokens, s.filler.text(seed, uint64(s.digest), words, missing)...)
	}
	before := len(c.Tokens)
	c.Tokens = append(c.Tokens, arguments...)
	if len(c.Tokens) > s.limit {
		c.Tokens, s.cut = c.Tokens[:s.limit], true
	}
	for _, call := range calls {
		call.Start, call.End = call.Start+before, min(call.End+before, len(c.Tokens))
		if call.Start < call.End {
			c.ToolCalls = append(c.ToolCalls, call)
		}
	}
	if len(c.Tokens) == 0 {
		c.Tokens = append(c.Tokens, s.endToken())
	}
	c.FinishReason = body.FinishReason
	switch {
	case s.cut || missing > 0 && len(c.Tokens) == q.MaxTokens:
		c.FinishReason = "length"
	case c.FinishReason == "" && len(c.ToolCalls) > 0:
		c.FinishReason = "tool_calls"
	case c.FinishReason == "", q.NoCalls && c.FinishReason == "tool_calls":
		c.FinishReason = "stop"
	}
	c.Offsets = body.Timing.offsets(&c)
	return c
}

// endToken is what an answer without text consists of: a model says at least that
// it is at the end.
func (s *scripted) endToken() plan.Token { return newToken("") }

// part appends a text's tokens, at most as many as the answer may have. The draw is
// the one for its length; the next is for its filler.
func (s *scripted) part(dst []plan.Token, t Text, kind plan.Kind, draw int) []plan.Token {
	start := len(dst)
	if t.MaxTokens > 0 {
		n := t.MinTokens + int(s.digest.draw(draw)%uint64(max(0, t.MaxTokens-t.MinTokens)+1))
		s.cut = s.cut || n > s.limit
		dst = append(dst, s.filler.text(s.digest.draw(draw+1), uint64(s.digest), s.filler.opening, min(n, s.limit))...)
	} else {
		text, cut := t.Template.render(&s.values, false, s.mostBytes())
		s.cut = s.cut || cut
		dst = s.tokenizer.AppendTokens(dst, text, false)
	}
	for i := range dst[start:] {
		dst[start+i].Kind = kind
	}
	return dst
}

func (s *scripted) mostBytes() int {
	return max(leastTextBytes, min(s.limit, mostTextBytes/textBytesPerToken)*textBytesPerToken)
}

// toolCalls returns the calls and their arguments' tokens, in which the calls'
// Start and End count.
func (s *scripted) toolCalls(calls []ToolCall) (made []plan.ToolCall, tokens []plan.Token) {
	for i, call := range calls {
		start := len(tokens)
		text, cut := call.Arguments.render(&s.values, call.JSON, s.mostBytes())
		s.cut = s.cut || cut
		tokens = s.tokenizer.AppendTokens(tokens, text, false)
		if len(tokens) == start {
			tokens = append(tokens, s.endToken())
		}
		for i := range tokens[start:] {
			tokens[start+i].Kind = plan.Arguments
		}
		id := call.ID
		if id == "" {
			id = callID(s.digest.draw(drawToolCalls + i))
		}
		made = append(made, plan.ToolCall{ID: id, Name: call.Name, Start: start, End: len(tokens)})
		if len(tokens) > s.limit {
			s.cut = true // no later call has a place
			break
		}
	}
	return made, tokens
}
