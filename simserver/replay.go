package simserver

import (
	"llmsim-bench/simserver/config"
	"llmsim-bench/simserver/llm"
	"llmsim-bench/simserver/recording"
)

// replayBody is what a recorded answer says, as the generator wants it.
func replayBody(r *config.Replay) llm.Body {
	if e := r.Answer.Error; e != nil {
		return llm.Body{Error: &llm.ErrorBody{
			Status: e.Status, Message: plainTemplate(e.Message), Type: e.Type, Code: e.Code, RetryAfter: e.RetryAfter,
		}}
	}
	body := replayChoice(&r.Answer.Choices[0], r.Timing)
	for i := range r.Answer.Choices[1:] {
		body.Also = append(body.Also, replayChoice(&r.Answer.Choices[1+i], r.Timing))
	}
	return body
}

func replayChoice(c *recording.Choice, timing bool) llm.Body {
	body := llm.Body{
		Reasoning:    llm.Text{Template: plainTemplate(c.Reasoning.Text)},
		Content:      llm.Text{Template: plainTemplate(c.Content.Text)},
		FinishReason: c.FinishReason,
	}
	t := &llm.Timing{Reasoning: marks(c.Reasoning), Content: marks(c.Content), End: c.EndNS}
	for _, call := range c.ToolCalls {
		body.ToolCalls = append(body.ToolCalls, llm.ToolCall{ID: call.ID, Name: call.Name, Arguments: plainTemplate(call.Arguments.Text)})
		t.ToolCalls = append(t.ToolCalls, marks(call.Arguments))
	}
	if timing {
		body.Timing = t
	}
	return body
}

// plainTemplate is a text in which nothing is replaced.
func plainTemplate(text string) llm.Template {
	if text == "" {
		return nil
	}
	return llm.Template{{Text: text}}
}

func marks(t recording.Text) (to []llm.Mark) {
	for _, m := range t.Marks {
		to = append(to, llm.Mark{End: m.End, At: m.AtNS})
	}
	return to
}
