package api

import (
	"encoding/json"
	"strconv"

	"llmsim-bench/simserver/llm"
	"llmsim-bench/simserver/plan"
)

// chatForm is the form of /v1/chat/completions.
type chatForm struct{}

type (
	chatChunkChoice struct {
		Index        int             `json:"index"`
		Delta        chatDelta       `json:"delta"`
		Logprobs     json.RawMessage `json:"logprobs,omitempty"`
		FinishReason *string         `json:"finish_reason"`
	}
	chatDelta struct {
		Role             string     `json:"role,omitempty"`
		Content          *string    `json:"content,omitempty"`
		ReasoningContent *string    `json:"reasoning_content,omitempty"`
		ToolCalls        []chatCall `json:"tool_calls,omitempty"`
	}
	// chatCall is a tool call. One of a stream has an index, and after its first
	// event no id and name.
	chatCall struct {
		Index    *int         `json:"index,omitempty"`
		ID       string       `json:"id,omitempty"`
		Type     string       `json:"type,omitempty"`
		Function chatFunction `json:"function"`
	}
	chatFunction struct {
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments"`
	}
	chatChoice struct {
		Index        int             `json:"index"`
		Message      chatAnswer      `json:"message"`
		Logprobs     json.RawMessage `json:"logprobs,omitempty"`
		FinishReason string          `json:"finish_reason"`
	}
	chatAnswer struct {
		Role             string     `json:"role"`
		Content          *string    `json:"content"`
		ReasoningContent *string    `json:"reasoning_content,omitempty"`
		ToolCalls        []chatCall `json:"tool_calls,omitempty"`
	}
)

const (
	assistant    = "assistant"
	functionCall = "function"
)

func (chatForm) names() formNames {
	return formNames{"chatcmpl-", "chat.completion.chunk", "chat.completion", "top_logprobs"}
}

func (chatForm) opening(choice int) any {
	empty := ""
	return chatChunkChoice{Index: choice, Delta: chatDelta{Role: assistant, Content: &empty}}
}

func (chatForm) token(choice int, kind plan.Kind, logprobs bool) any {
	mark := textMark
	if kind == plan.Reasoning {
		return chatChunkChoice{Index: choice, Delta: chatDelta{ReasoningContent: &mark}}
	}
	c := chatChunkChoice{Index: choice, Delta: chatDelta{Content: &mark}}
	if logprobs {
		c.Logprobs = marshal(logprobsMark)
	}
	return c
}

func (chatForm) call(choice, index int, call *plan.ToolCall) any {
	made := chatCall{Index: &index, Function: chatFunction{Arguments: textMark}}
	if call != nil {
		made.ID, made.Type, made.Function.Name = call.ID, functionCall, call.Name
	}
	return chatChunkChoice{Index: choice, Delta: chatDelta{ToolCalls: []chatCall{made}}}
}

func (chatForm) finish(choice int, reason string) any {
	return chatChunkChoice{Index: choice, FinishReason: &reason}
}

func (chatForm) whole(choice int, c *plan.Choice, logprobs json.RawMessage) any {
	said := chatAnswer{Role: assistant, Content: textOf(c.Tokens, plan.Content), ReasoningContent: textOf(c.Tokens, plan.Reasoning)}
	for _, call := range c.ToolCalls {
		made := chatCall{ID: call.ID, Type: functionCall, Function: chatFunction{Name: call.Name}}
		if arguments := textOf(c.Tokens[call.Start:call.End], plan.Arguments); arguments != nil {
			made.Function.Arguments = *arguments
		}
		said.ToolCalls = append(said.ToolCalls, made)
	}
	return chatChoice{Index: choice, Message: said, Logprobs: logprobs, FinishReason: c.FinishReason}
}

func (chatForm) appendLogprobs(dst []byte, tokens []plan.Token, place, _, alternatives int, scratch *[]llm.Alternative) []byte {
	dst = append(dst, `{"content":[`...)
	for i := range tokens {
		if i > 0 {
			dst = append(dst, ',')
		}
		likely := llm.AppendAlternatives((*scratch)[:0], tokens[i], place+i, alternatives)
		*scratch = likely
		dst = appendAlternative(append(dst, '{'), &likely[0])
		dst = append(dst, `,"top_logprobs":[`...)
		for k := range min(alternatives, len(likely)) {
			if k > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendAlternative(append(dst, '{'), &likely[k]), '}')
		}
		dst = append(dst, "]}"...)
	}
	return append(dst, `],"refusal":null}`...)
}

// appendAlternative appends the members of one token's entry.
func appendAlternative(dst []byte, a *llm.Alternative) []byte {
	dst = append(dst, `"token":`...)
	dst = appendQuoted(dst, a.Text)
	dst = append(dst, `,"logprob":`...)
	dst = appendLogprob(dst, a.Logprob)
	dst = append(dst, `,"bytes":[`...)
	for i := range len(a.Text) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendUint(dst, uint64(a.Text[i]), 10)
	}
	return append(dst, ']')
}

func appendLogprob(dst []byte, logprob float64) []byte {
	return strconv.AppendFloat(dst, logprob, 'f', 6, 64)
}
