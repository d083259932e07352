package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"llmsim-bench/simserver/llm"
)

// chatRequest is the body of POST /v1/chat/completions.
type chatRequest struct {
	Model               string        `json:"model"`
	Messages            []chatMessage `json:"messages"`
	MaxTokens           *int          `json:"max_tokens"`
	MaxCompletionTokens *int          `json:"max_completion_tokens"`
	MinTokens           *int          `json:"min_tokens"`
	IgnoreEOS           bool          `json:"ignore_eos"` // holds already: filler has no end of its own
	Stream              bool          `json:"stream"`
	StreamOptions       *struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Seed     *int64 `json:"seed"`
	Priority int    `json:"priority"`

	// What would change the form of the answer and is not built is refused.
	N              *int            `json:"n"`
	Logprobs       bool            `json:"logprobs"`
	ResponseFormat *responseFormat `json:"response_format"`
	ToolChoice     json.RawMessage `json:"tool_choice"`

	// What follows is accepted, if its type is right, without effect: there is no
	// model to sample from.
	Temperature      *float64          `json:"temperature"`
	TopP             *float64          `json:"top_p"`
	PresencePenalty  *float64          `json:"presence_penalty"`
	FrequencyPenalty *float64          `json:"frequency_penalty"`
	Stop             *stopText         `json:"stop"`
	Tools            []json.RawMessage `json:"tools"`
	User             *string           `json:"user"`
}

// stopText is a string or a list of strings.
type stopText []string

// UnmarshalJSON implements json.Unmarshaler.
func (s *stopText) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*s = stopText{one}
		return nil
	}
	if json.Unmarshal(data, (*[]string)(s)) != nil {
		return badField("stop", "must be a string or an array of strings")
	}
	return nil
}

type responseFormat struct {
	Type string `json:"type"`
}

type chatMessage struct {
	Role    string      `json:"role"`
	Content messageText `json:"content"`
}

// messageText is a message's content: a string, null, or a list of parts of
// which the text ones count.
type messageText string

// UnmarshalJSON implements json.Unmarshaler.
func (t *messageText) UnmarshalJSON(data []byte) error {
	if data[0] == '"' || data[0] == 'n' {
		return json.Unmarshal(data, (*string)(t))
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if data[0] != '[' || json.Unmarshal(data, &parts) != nil {
		return badField("messages", "content must be a string, null, or an array of {\"type\":\"text\",\"text\":…} parts")
	}
	var b strings.Builder
	for i, p := range parts {
		if p.Type != "text" {
			return badField("messages", "content part %d has type %q; only \"text\" is simulated", i, p.Type)
		}
		b.WriteString(p.Text)
	}
	*t = messageText(b.String())
	return nil
}

// decodeChat parses and checks a request body. Errors are *apiError.
func decodeChat(body []byte) (*chatRequest, error) {
	var r chatRequest
	d := json.NewDecoder(bytes.NewReader(body))
	if err := d.Decode(&r); err != nil {
		return nil, jsonError(err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, badRequest("the body goes on after the JSON object, at byte %d", d.InputOffset())
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	return &r, nil
}

// jsonError names the place of a JSON error.
func jsonError(err error) *apiError {
	var ours *apiError
	var wrongType *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &ours):
		return ours
	case errors.As(err, &wrongType):
		field := wrongType.Field
		if field == "" {
			return badRequest("the body must be a JSON object, got %s", wrongType.Value)
		}
		return badField(field, "must be %s, got %s", jsonTypeName(wrongType.Type.Kind().String()), wrongType.Value)
	case errors.As(err, &syntax):
		return badRequest("the body is not valid JSON: %v, at byte %d", err, syntax.Offset)
	case errors.Is(err, io.EOF):
		return badRequest("the body is empty, must be a JSON object")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return badRequest("the body is not valid JSON: it ends too early")
	default:
		return badRequest("the body is not valid JSON: %v", err)
	}
}

// jsonTypeName is the JSON name of a Go kind.
func jsonTypeName(kind string) string {
	switch kind {
	case "int", "int64":
		return "an integer"
	case "float64":
		return "a number"
	case "bool":
		return "a boolean"
	case "slice":
		return "an array"
	case "struct":
		return "an object"
	default:
		return "a " + kind
	}
}

func (r *chatRequest) check() error {
	switch {
	case r.Model == "":
		return badField("model", "is missing, must name a model of /v1/models")
	case len(r.Messages) == 0:
		return badField("messages", "is missing or empty, must hold at least one message")
	case r.N != nil && *r.N != 1:
		return badField("n", "%d is not simulated, must be 1", *r.N)
	case r.Logprobs:
		return badField("logprobs", "are not simulated, must be false")
	case r.ResponseFormat != nil && r.ResponseFormat.Type != "text":
		return badField("response_format", "type %q is not simulated, must be \"text\"", r.ResponseFormat.Type)
	case !toolChoiceIsFree(r.ToolChoice):
		return badField("tool_choice", "%s is not simulated, must be \"auto\" or \"none\"", r.ToolChoice)
	}
	for i, m := range r.Messages {
		switch m.Role {
		case "system", "developer", "user", "assistant", "tool":
		default:
			return badField(fmt.Sprintf("messages[%d].role", i),
				"%q is unknown, must be system, developer, user, assistant or tool", m.Role)
		}
	}
	for _, f := range []struct {
		name  string
		value *int
		least int
	}{
		{"max_tokens", r.MaxTokens, 1},
		{"max_completion_tokens", r.MaxCompletionTokens, 1},
		{"min_tokens", r.MinTokens, 0},
	} {
		if f.value != nil && *f.value < f.least {
			return badField(f.name, "%d is not possible, must be %d or more", *f.value, f.least)
		}
	}
	if r.MinTokens != nil && r.limit() > 0 && *r.MinTokens > r.limit() {
		return badField("min_tokens", "%d is above max_tokens %d", *r.MinTokens, r.limit())
	}
	if r.StreamOptions != nil && !r.Stream {
		return badField("stream_options", "is only for \"stream\": true")
	}
	return nil
}

// toolChoiceIsFree reports whether the answer may be plain text.
func toolChoiceIsFree(choice json.RawMessage) bool {
	switch string(choice) {
	case "", "null", `"auto"`, `"none"`:
		return true
	}
	return false
}

// limit is how many tokens were asked for; 0: not said.
func (r *chatRequest) limit() int {
	switch {
	case r.MaxCompletionTokens != nil:
		return *r.MaxCompletionTokens
	case r.MaxTokens != nil:
		return *r.MaxTokens
	}
	return 0
}

// includeUsage reports whether a stream ends with a usage event.
func (r *chatRequest) includeUsage() bool {
	return r.StreamOptions != nil && r.StreamOptions.IncludeUsage
}

// generation is what the generator needs of the request.
func (r *chatRequest) generation() llm.Request {
	g := llm.Request{MaxTokens: r.limit(), Seed: r.Seed}
	if r.MinTokens != nil {
		g.MinTokens = *r.MinTokens
	}
	for _, m := range r.Messages {
		g.Messages = append(g.Messages, llm.Message{Role: m.Role, Text: string(m.Content)})
	}
	return g
}
