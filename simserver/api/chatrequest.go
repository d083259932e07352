package api

import (
	"reflect"

	"llmsim-bench/simserver/llm"
)

// chatRequest is the body of POST /v1/chat/completions.
type chatRequest struct {
	generation
	Messages            []chatMessage    `json:"messages"`
	MaxCompletionTokens *int             `json:"max_completion_tokens"`
	Logprobs            bool             `json:"logprobs"`
	TopLogprobs         *int             `json:"top_logprobs"`
	ResponseFormat      *responseFormat  `json:"response_format"`
	Tools               []toolDefinition `json:"tools"`
	ToolChoice          toolChoice       `json:"tool_choice"`
	ReasoningEffort     *string          `json:"reasoning_effort"`

	preamble string      // the tools' definitions
	schema   *llm.Schema // of the answer; nil: it is text
	calls    []llm.Tool  // of which one must be called; none: the answer is free
}

var (
	chatFields       = fieldNames(reflect.TypeFor[chatRequest]())
	streamOptionKeys = fieldNames(reflect.TypeFor[streamOptions]())
)

// reasoningTokens is how many tokens are thought at an effort.
var reasoningTokens = map[string]int{"none": 0, "minimal": 16, "low": 64, "medium": 256, "high": 1024, "xhigh": 4096}

// decodeChat parses and checks a request body. Errors are *apiError.
func decodeChat(body []byte) (*chatRequest, error) {
	var r chatRequest
	if err := decode(body, &r); err != nil {
		return nil, err
	}
	err := chatParameters.checkMembers(body, chatFields, func(key string, value []byte) error {
		switch key {
		case "stream_options":
			return checkKeys(key, value, streamOptionKeys...)
		case "response_format":
			return checkFormatKeys(value)
		case "tools":
			r.preamble = toolsText(value)
			return checkToolKeys(value)
		case "messages":
			return checkMessageKeys(value)
		}
		return nil
	})
	if err == nil {
		err = r.check()
	}
	if err != nil {
		return nil, err
	}
	return &r, nil
}

func (r *chatRequest) check() error {
	limit := bound{"max_completion_tokens", r.MaxCompletionTokens, 1, 0}
	alternatives := bound{"top_logprobs", r.TopLogprobs, 0, maxAlternatives}
	if err := checkBounds(limit, alternatives); err != nil {
		return err
	}
	if err := r.generation.check(r.limit()); err != nil {
		return err
	}
	if err := checkMessages(r.Messages); err != nil {
		return err
	}
	if r.TopLogprobs != nil && !r.Logprobs {
		return badField("top_logprobs", "is only for \"logprobs\": true")
	}
	if e := r.ReasoningEffort; e != nil {
		if _, known := reasoningTokens[*e]; !known {
			return badField("reasoning_effort", "%.80q is not known, must be none, minimal, low, medium, high or xhigh", *e)
		}
	}
	if err := checkTools(r.Tools, r.ToolChoice); err != nil {
		return err
	}
	var err error
	if r.schema, err = r.ResponseFormat.schema(); err != nil {
		return err
	}
	r.calls, err = demanded(r.Tools, r.ToolChoice)
	return err
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

// llmRequest is what the generator needs of the request.
func (r *chatRequest) llmRequest() llm.Request {
	g := r.request(r.limit())
	g.Messages, g.Preamble = prompt(r.Messages), r.preamble
	g.Schema, g.Calls, g.NoCalls = r.schema, r.calls, r.ToolChoice.mode == "none"
	if r.ReasoningEffort != nil {
		g.ReasoningTokens = reasoningTokens[*r.ReasoningEffort]
	}
	return g
}

// orderChat reads a request.
func orderChat(body []byte) (*order, error) {
	r, err := decodeChat(body)
	if err != nil {
		return nil, err
	}
	o := r.order(r.llmRequest(), chatForm{})
	o.promptField = "messages"
	if r.Logprobs {
		o.alternatives = 0
		if r.TopLogprobs != nil {
			o.alternatives = *r.TopLogprobs
		}
	}
	return o, nil
}
