package api

import (
	"encoding/json"
	"reflect"

	"llmsim-bench/simserver/llm"
	"llmsim-bench/simserver/plan"
)

// completionRequest is the body of POST /v1/completions.
type completionRequest struct {
	generation
	Prompt   inputs `json:"prompt"`
	Logprobs *int   `json:"logprobs"`
}

// defaultCompletionTokens is how long a completion is that does not say, as with
// OpenAI.
const defaultCompletionTokens = 16

var completionFields = fieldNames(reflect.TypeFor[completionRequest]())

// inputs is a text or its token ids, or a list of either.
type inputs struct {
	texts  []string
	tokens [][]plan.TokenID
}

func (in *inputs) len() int { return len(in.texts) + len(in.tokens) }

// UnmarshalJSON implements json.Unmarshaler.
func (in *inputs) UnmarshalJSON(data []byte) error {
	var one string
	var ids []plan.TokenID
	switch {
	case kindOf(data) == "null":
		return nil
	case kindOf(data) == "string" && json.Unmarshal(data, &one) == nil:
		in.texts = []string{one}
	case kindOf(data) == "array" && json.Unmarshal(data, &in.texts) == nil:
	case kindOf(data) == "array" && json.Unmarshal(data, &ids) == nil:
		in.texts, in.tokens = nil, [][]plan.TokenID{ids}
	case kindOf(data) == "array" && json.Unmarshal(data, &in.tokens) == nil:
		in.texts = nil
	default:
		return errInputs
	}
	return nil
}

var errInputs = badRequest("must be a string, an array of strings, an array of token ids, or an array of such arrays")

// check says what is wrong with the inputs under a parameter.
func (in *inputs) check(param string, most int) error {
	if in.len() == 0 {
		return badField(param, "is missing or empty, must hold a text or its token ids")
	}
	if in.len() > most {
		return badField(param, "has %d texts, must have %d or fewer", in.len(), most)
	}
	for _, ids := range in.tokens {
		if len(ids) == 0 {
			return badField(param, "has an empty list of token ids, must have none")
		}
	}
	return nil
}

// fill makes the inputs the prompt of a request, one after the other.
func (in *inputs) fill(r *llm.Request) {
	r.Raw = true
	for _, text := range in.texts {
		r.Messages = append(r.Messages, llm.Message{Role: "user", Text: text})
	}
	for _, ids := range in.tokens {
		r.PromptIDs = append(r.PromptIDs, ids...)
	}
}

// orderCompletion reads a request.
func orderCompletion(body []byte) (*order, error) {
	var r completionRequest
	if err := decodeWithInputs(body, &r, "prompt"); err != nil {
		return nil, err
	}
	err := completionParameters.checkMembers(body, completionFields, func(key string, value []byte) error {
		if key == "stream_options" {
			return checkKeys(key, value, streamOptionKeys...)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	limit := defaultCompletionTokens
	if r.MaxTokens != nil {
		limit = *r.MaxTokens
	} else if r.MinTokens != nil {
		limit = max(limit, *r.MinTokens)
	}
	if err := r.check(limit); err != nil {
		return nil, err
	}
	if err := r.Prompt.check("prompt", 1); err != nil {
		return nil, err
	}
	if err := checkBounds(bound{"logprobs", r.Logprobs, 0, maxAlternatives}); err != nil {
		return nil, err
	}
	request := r.request(limit)
	request.NoCalls, request.NoReasoning = true, true // the form has no place for them
	r.Prompt.fill(&request)
	o := r.order(request, textForm{})
	o.promptField = "prompt"
	if r.Logprobs != nil {
		o.alternatives = *r.Logprobs
	}
	return o, nil
}

// decodeWithInputs is decode for a body whose inputs are under a parameter.
func decodeWithInputs(body []byte, into any, param string) error {
	err := decode(body, into)
	if err == errInputs {
		return badField(param, "%s", errInputs.message)
	}
	return err
}
