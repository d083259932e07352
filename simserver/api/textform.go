package api

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"

	"llmsim-bench/simserver/llm"
	"llmsim-bench/simserver/plan"
)

// textForm is the form of /v1/completions: whatever is said is text.
type textForm struct{}

// textChoice is a choice of an event, or of an answer that is not streamed.
type textChoice struct {
	Text         string          `json:"text"`
	Index        int             `json:"index"`
	Logprobs     json.RawMessage `json:"logprobs"`
	FinishReason *string         `json:"finish_reason"`
}

func (textForm) names() formNames {
	return formNames{"cmpl-", "text_completion", "text_completion", "logprobs"}
}

func (textForm) opening(int) any { return nil }

func (textForm) token(choice int, _ plan.Kind, logprobs bool) any {
	c := textChoice{Text: textMark, Index: choice}
	if logprobs {
		c.Logprobs = marshal(logprobsMark)
	}
	return c
}

func (f textForm) call(choice, _ int, _ *plan.ToolCall) any {
	return f.token(choice, plan.Arguments, false)
}

func (textForm) finish(choice int, reason string) any {
	return textChoice{Index: choice, FinishReason: &reason}
}

func (textForm) whole(choice int, c *plan.Choice, logprobs json.RawMessage) any {
	var text []byte
	for i := range c.Tokens {
		text = append(text, c.Tokens[i].Text...)
	}
	return textChoice{Text: string(text), Index: choice, Logprobs: logprobs, FinishReason: &c.FinishReason}
}

func (textForm) appendLogprobs(dst []byte, tokens []plan.Token, place, offset, alternatives int, scratch *[]llm.Alternative) []byte {
	dst = append(dst, `{"tokens":[`...)
	dst = appendList(dst, tokens, func(dst []byte, i int) []byte { return appendQuoted(dst, tokens[i].Text) })
	dst = append(dst, `],"token_logprobs":[`...)
	dst = appendList(dst, tokens, func(dst []byte, i int) []byte {
		*scratch = llm.AppendAlternatives((*scratch)[:0], tokens[i], place+i, 0)
		return appendLogprob(dst, (*scratch)[0].Logprob)
	})
	dst = append(dst, `],"top_logprobs":[`...)
	dst = appendList(dst, tokens, func(dst []byte, i int) []byte {
		*scratch = llm.AppendAlternatives((*scratch)[:0], tokens[i], place+i, alternatives)
		dst = append(dst, '{')
		for k := range min(alternatives, len(*scratch)) {
			if k > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendQuoted(dst, (*scratch)[k].Text), ':')
			dst = appendLogprob(dst, (*scratch)[k].Logprob)
		}
		return append(dst, '}')
	})
	dst = append(dst, `],"text_offset":[`...)
	dst = appendList(dst, tokens, func(dst []byte, i int) []byte {
		dst = strconv.AppendInt(dst, int64(offset), 10)
		offset += utf8.RuneCountInString(tokens[i].Text)
		return dst
	})
	return append(dst, "]}"...)
}

// appendList appends something for each token, with commas between.
func appendList(dst []byte, tokens []plan.Token, one func(dst []byte, i int) []byte) []byte {
	for i := range tokens {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = one(dst, i)
	}
	return dst
}
