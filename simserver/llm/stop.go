package llm

import (
	"strings"

	"llmsim-bench/simserver/plan"
)

// endAtStop ends a choice where its content holds a stop text: what comes from
// there on is not said, and a token that the stop begins in is cut. Of several stops
// the one that is complete first counts; one that is complete within the first
// MinTokens tokens does not.
func (r *Request) endAtStop(c *plan.Choice) {
	if len(r.Stop) == 0 {
		return
	}
	from, to := c.Content()
	var text strings.Builder
	after := 0 // bytes that hold no stop
	for i := from; i < to; i++ {
		text.WriteString(c.Tokens[i].Text)
		if i < r.MinTokens {
			after = text.Len()
		}
	}
	start, end := firstStop(text.String(), r.Stop, after)
	if start < 0 {
		return
	}
	if r.KeepStop {
		start = end
	}
	said, at := from, 0
	for said < to && at < start {
		token := &c.Tokens[said]
		if rest := start - at; len(token.Text) > rest {
			token.Text = token.Text[:rest]
		}
		at += len(token.Text)
		said++
	}
	c.Tokens, c.ToolCalls, c.FinishReason = c.Tokens[:said], nil, "stop"
	if said == 0 {
		c.Tokens = append(c.Tokens, newToken(""))
	}
	if c.Offsets != nil {
		c.Offsets = c.Offsets[:len(c.Tokens)]
	}
}

// firstStop finds the stop that ends first, past so many bytes; of those that end
// together the longest. start is -1 if there is none.
func firstStop(text string, stops []string, after int) (start, end int) {
	start, end = -1, len(text)
	for _, stop := range stops {
		from := max(0, after-len(stop)+1)
		if from > end {
			continue
		}
		i := strings.Index(text[from:end], stop)
		if i < 0 {
			continue
		}
		at := from + i
		if ends := at + len(stop); start < 0 || ends < end || at < start {
			start, end = at, ends
		}
	}
	return start, end
}
