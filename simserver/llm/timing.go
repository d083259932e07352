package llm

import "llmsim-bench/simserver/plan"

// Timing says when the parts of a recorded answer came, in ns after the request.
type Timing struct {
	Reasoning, Content []Mark
	// ToolCalls has the marks of each call's arguments.
	ToolCalls [][]Mark
	// End is when the answer was over: when one of which nothing is said is due.
	End int64
}

// Mark says that a part's text up to byte End was there At ns after the request.
// A part's marks are in order.
type Mark struct {
	End int
	At  int64
}

// offsets returns when each token of a choice is due: when the last byte of it had
// come, however the recorded server cut its tokens, but never before the token in
// front of it. What the recording does not have, such as filler, comes with what is
// in front of it. A nil Timing has no offsets.
func (t *Timing) offsets(c *plan.Choice) []int64 {
	if t == nil {
		return nil
	}
	all := make([]int64, 0, len(c.Tokens))
	due, known, rest := int64(0), false, c.Tokens
	for _, part := range t.parts(c) {
		marks, said := part.marks, 0
		for _, token := range rest[:part.tokens] {
			said += len(token.Text)
			for len(marks) > 1 && marks[0].End < said {
				marks = marks[1:]
			}
			if len(marks) > 0 {
				due, known = max(due, marks[0].At), true
			}
			all = append(all, due)
		}
		rest = rest[part.tokens:]
	}
	for i := range all {
		if !known {
			all[i] = t.End
		}
	}
	return all
}

// timedPart is a run of tokens that come by the same marks.
type timedPart struct {
	tokens int
	marks  []Mark
}

// parts takes a choice apart.
func (t *Timing) parts(c *plan.Choice) []timedPart {
	var counts [2]int // of what stands before the calls
	for _, token := range c.Tokens {
		if token.Kind != plan.Arguments {
			counts[token.Kind]++
		}
	}
	parts := []timedPart{{counts[plan.Reasoning], t.Reasoning}, {counts[plan.Content], t.Content}}
	for i, call := range c.ToolCalls {
		parts = append(parts, timedPart{call.End - call.Start, t.ToolCalls[i]})
	}
	return parts
}
