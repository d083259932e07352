package recording

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// chunk is what counts of a chat.completion.chunk, or of a whole chat.completion:
// they differ in delta and message.
type chunk struct {
	Choices []struct {
		Index        int     `json:"index"`
		Delta        message `json:"delta"`
		Message      message `json:"message"`
		FinishReason *string `json:"finish_reason"`
	} `json:"choices"`
	Error json.RawMessage `json:"error"`
}

type message struct {
	Content *string `json:"content"`
	// Servers call the reasoning either; one that sends both says it twice.
	ReasoningContent *string         `json:"reasoning_content"`
	Reasoning        *string         `json:"reasoning"`
	Refusal          *string         `json:"refusal"`
	FunctionCall     json.RawMessage `json:"function_call"`
	ToolCalls        []struct {
		Index    *int   `json:"index"` // only in a delta
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// maxIndex bounds the indices of choices and calls.
const maxIndex = 128

// builder puts an answer together.
type builder struct{ choices []Choice }

// addChunk adds what came at a moment.
func (b *builder) addChunk(data []byte, at int64) error {
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return fmt.Errorf("is not a chat completion: %w", err)
	}
	if given(c.Error) {
		return fmt.Errorf("is an error, behind a status of success: %s", shortened(c.Error))
	}
	for _, from := range c.Choices {
		if from.Index < 0 || from.Index >= maxIndex {
			return fmt.Errorf("choice %d, must be from 0 to %d", from.Index, maxIndex-1)
		}
		for len(b.choices) <= from.Index {
			b.choices = append(b.choices, Choice{})
		}
		to := &b.choices[from.Index]
		for _, m := range []*message{&from.Delta, &from.Message} {
			if err := to.add(m, at); err != nil {
				return err
			}
		}
		if from.FinishReason != nil {
			to.FinishReason, to.EndNS = *from.FinishReason, at
		}
	}
	return nil
}

// add adds what came at a moment.
func (c *Choice) add(m *message, at int64) error {
	switch {
	case text(m.Refusal) != "":
		return errors.New("has a refusal, which can't be replayed")
	case given(m.FunctionCall):
		return errors.New("has a function_call, the older form of tool_calls, which can't be replayed")
	}
	if thought := text(m.ReasoningContent); thought != "" {
		c.Reasoning.add(thought, at)
	} else {
		c.Reasoning.add(text(m.Reasoning), at)
	}
	c.Content.add(text(m.Content), at)
	for i, from := range m.ToolCalls {
		if from.Index != nil {
			i = *from.Index
		}
		switch {
		case i < 0 || i >= maxIndex:
			return fmt.Errorf("tool call %d, must be from 0 to %d", i, maxIndex-1)
		case i > len(c.ToolCalls):
			return fmt.Errorf("tool call %d begins before tool call %d", i, len(c.ToolCalls))
		case i == len(c.ToolCalls):
			c.ToolCalls = append(c.ToolCalls, ToolCall{Arguments: Text{Marks: []Mark{{0, at}}}})
		}
		call := &c.ToolCalls[i]
		if from.ID != "" {
			call.ID = from.ID
		}
		if from.Function.Name != "" { // servers send it once, or again with each piece
			call.Name = from.Function.Name
		}
		call.Arguments.add(from.Function.Arguments, at)
	}
	return nil
}

// answer returns what was put together.
func (b *builder) answer() (*Answer, error) {
	if len(b.choices) == 0 {
		return nil, errors.New("the response has no choice")
	}
	for i := range b.choices {
		c := &b.choices[i]
		if c.FinishReason == "" {
			return nil, fmt.Errorf("the response is cut: choice %d has no finish_reason", i)
		}
		c.Reasoning.done()
		c.Content.done()
		for j := range c.ToolCalls {
			call := &c.ToolCalls[j]
			call.Arguments.done()
			if call.Name == "" {
				return nil, fmt.Errorf("the response is broken: tool call %d of choice %d has no name", j, i)
			}
		}
	}
	return &Answer{Choices: b.choices}, nil
}

// maxMessage bounds what is kept of an error that is not OpenAI's, in bytes.
const maxMessage = 2000

// maxRetryAfter bounds an error's RetryAfter, in seconds.
const maxRetryAfter = 86_400

// failure takes an error's body, in whichever of the usual forms it is.
func (r *Response) failure() *Error {
	e := &Error{Status: r.Status}
	if n, err := strconv.Atoi(first(r.Headers, "Retry-After")); err == nil && n > 0 {
		e.RetryAfter = min(n, maxRetryAfter)
	}
	body := r.body()
	type inner struct {
		Message, Type string
		Code          any
	}
	var outer struct {
		inner         // vLLM's older form
		Detail string // FastAPI's
		Error  json.RawMessage
	}
	var said inner
	var asText string
	if json.Unmarshal(body, &outer) == nil {
		switch {
		case json.Unmarshal(outer.Error, &asText) == nil && asText != "":
			said.Message = asText
		case json.Unmarshal(outer.Error, &said) == nil && said.Message != "":
		case outer.Message != "":
			said = outer.inner
		case outer.Detail != "":
			said.Message = outer.Detail
		}
	}
	e.Message, e.Type = said.Message, said.Type
	if said.Code != nil {
		e.Code = fmt.Sprint(said.Code)
	}
	if e.Message == "" {
		e.Message = shortened(body)
	}
	if e.Message == "" {
		e.Message = fmt.Sprintf("the recorded server answered with status %d and nothing else", r.Status)
	}
	return e
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// given says that a field is there and not null.
func given(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

func shortened(data []byte) string {
	data = bytes.TrimSpace(data)
	if len(data) > maxMessage {
		data = data[:maxMessage]
	}
	return strings.ToValidUTF8(string(data), "")
}
