package llm

import (
	"fmt"

	"llmsim-bench/simserver/llm/schema"
	"llmsim-bench/simserver/plan"
)

// ownChoices are the answers that no responses give: filler, or a value or a call
// that the request demands. room is how many tokens the context has left.
func (g *Generator) ownChoices(r *Request, prompt []plan.TokenID, room int) ([]plan.Choice, error) {
	seed := g.options.Seed
	if r.Seed != nil {
		seed = *r.Seed
	}
	hash := digest(promptHash(prompt))
	choices := make([]plan.Choice, r.choices())
	budget := schema.NewBudget()
	for i := range choices {
		o := own{g: g, r: r, room: room, seed: uint64(seed), prompt: hash.ofChoice(i), budget: budget}
		choices[i] = o.choice()
		if err := r.finish(&choices[i]); err != nil {
			return nil, err
		}
	}
	return choices, nil
}

// own makes one choice.
type own struct {
	g      *Generator
	r      *Request
	room   int
	seed   uint64
	prompt digest         // of the prompt and the choice
	budget *schema.Budget // of the request
}

func (o *own) choice() plan.Choice {
	limit := o.room
	if o.r.MaxTokens > 0 {
		limit = o.r.MaxTokens
	}
	thought := min(o.r.ReasoningTokens, limit)
	c := plan.Choice{FinishReason: "stop"}
	if thought > 0 {
		c.Tokens = o.g.filler.text(o.seed, o.prompt.draw(drawReasoning), o.g.filler.opening, thought)
		for i := range c.Tokens {
			c.Tokens[i].Kind = plan.Reasoning
		}
	}
	switch {
	case len(o.r.Calls) > 0:
		o.call(&c)
	case o.r.Schema != nil:
		o.value(&c)
	default:
		o.fill(&c, limit, thought)
	}
	if len(c.Tokens) > limit {
		c.Tokens, c.FinishReason = c.Tokens[:limit], "length"
	}
	for i := range c.ToolCalls {
		c.ToolCalls[i].End = min(c.ToolCalls[i].End, len(c.Tokens))
		if c.ToolCalls[i].Start >= c.ToolCalls[i].End {
			c.ToolCalls = c.ToolCalls[:i] // it was not begun
		}
	}
	return c
}

// fill adds filler: up to the limit that the request gives, or else the default
// number of tokens.
func (o *own) fill(c *plan.Choice, limit, thought int) {
	length := limit - thought
	if o.r.MaxTokens == 0 {
		length = max(min(o.g.options.DefaultOutputTokens, length), o.r.MinTokens-thought)
	}
	if o.r.MaxTokens > 0 || length == 0 {
		c.FinishReason = "length"
	}
	text := o.g.filler.text(o.seed, uint64(o.prompt), o.g.filler.opening, length)
	if thought == 0 {
		c.Tokens = text
		return
	}
	c.Tokens = append(c.Tokens, text...)
}

// value adds a value of the schema.
func (o *own) value(c *plan.Choice) {
	text := o.json(o.r.Schema)
	c.Tokens = o.g.options.Tokenizer.AppendTokens(c.Tokens, string(text), false)
}

// call adds a call of one of the tools.
func (o *own) call(c *plan.Choice) {
	tool := &o.r.Calls[o.draw(drawTool)%uint64(len(o.r.Calls))]
	arguments := o.json(tool.Parameters)
	start := len(c.Tokens)
	c.Tokens = o.g.options.Tokenizer.AppendTokens(c.Tokens, string(arguments), false)
	for i := range c.Tokens[start:] {
		c.Tokens[start+i].Kind = plan.Arguments
	}
	c.ToolCalls = []plan.ToolCall{{ID: callID(o.draw(drawToolCalls)), Name: tool.Name, Start: start, End: len(c.Tokens)}}
	c.FinishReason = "tool_calls"
}

// json is a value of a schema.
func (o *own) json(s *Schema) []byte {
	defer longWork.end(longWork.enter())
	return s.AppendWithin(nil, o.draw(drawContent), o.budget)
}

// draw depends on the request's seed too.
func (o *own) draw(n int) uint64 { return digest(uint64(o.prompt) ^ digest(o.seed).draw(n)).draw(n) }

// callID is the id of a tool call.
func callID(drawn uint64) string { return fmt.Sprintf("call_%016x", drawn) }
