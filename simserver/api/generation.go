package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"llmsim-bench/simserver/llm"
)

// Limits of a request.
const (
	maxChoices      = 128 // as OpenAI
	maxStops        = 4
	maxAlternatives = llm.MostAlternatives
)

// generation are the parameters that all APIs share that generate text.
type generation struct {
	Model     string         `json:"model"`
	MaxTokens *int           `json:"max_tokens"`
	MinTokens *int           `json:"min_tokens"`
	IgnoreEOS bool           `json:"ignore_eos"`
	Stream    bool           `json:"stream"`
	Options   *streamOptions `json:"stream_options"`
	Seed      *int64         `json:"seed"`
	N         *int           `json:"n"`
	Stop      stopText       `json:"stop"`
	KeepStop  bool           `json:"include_stop_str_in_output"`
	Priority  int            `json:"priority"`
}

type streamOptions struct {
	IncludeUsage    bool `json:"include_usage"`
	ContinuousUsage bool `json:"continuous_usage_stats"`
	// Obfuscation hides the length of tokens from whoever listens; accepted only.
	Obfuscation bool `json:"include_obfuscation"`
}

// stopText is a string or a list of strings.
type stopText []string

// UnmarshalJSON implements json.Unmarshaler.
func (s *stopText) UnmarshalJSON(data []byte) error {
	var one string
	if kindOf(data) == "string" && json.Unmarshal(data, &one) == nil {
		*s = stopText{one}
		return nil
	}
	if json.Unmarshal(data, (*[]string)(s)) != nil {
		return badField("stop", "must be a string or an array of strings")
	}
	return nil
}

// decode parses a body. Errors are *apiError.
func decode(body []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	if err := d.Decode(into); err != nil {
		return jsonError(err)
	}
	if _, err := d.Token(); err != io.EOF {
		return badRequest("the body goes on after the JSON object, at byte %d", d.InputOffset())
	}
	return nil
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
		field := strings.TrimPrefix(wrongType.Field, "generation.") // a struct that is embedded
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

// bound is a parameter that is an integer.
type bound struct {
	name        string
	value       *int
	least, most int // most of 0: none
}

func checkBounds(bounds ...bound) error {
	for _, b := range bounds {
		switch {
		case b.value == nil:
		case *b.value < b.least:
			return badField(b.name, "%d is not possible, must be %d or more", *b.value, b.least)
		case b.most > 0 && *b.value > b.most:
			return badField(b.name, "%d is not possible, must be %d or less", *b.value, b.most)
		}
	}
	return nil
}

// check checks the parameters; limit is how many tokens were asked for, 0: not said.
func (g *generation) check(limit int) error {
	if g.Model == "" {
		return badField("model", "is missing, must name a model of /v1/models")
	}
	err := checkBounds(bound{"max_tokens", g.MaxTokens, 1, 0}, bound{"min_tokens", g.MinTokens, 0, 0}, bound{"n", g.N, 1, maxChoices})
	switch {
	case err != nil:
		return err
	case g.MinTokens != nil && limit > 0 && *g.MinTokens > limit:
		return badField("min_tokens", "%d is above max_tokens %d", *g.MinTokens, limit)
	case g.Options != nil && !g.Stream:
		return badField("stream_options", "is only for \"stream\": true")
	case len(g.Stop) > maxStops:
		return badField("stop", "has %d texts, must have %d or fewer", len(g.Stop), maxStops)
	case slices.Contains(g.Stop, ""):
		return badField("stop", "has an empty text, must have none")
	}
	return nil
}

// request is what the generator needs of the parameters.
func (g *generation) request(limit int) llm.Request {
	return llm.Request{
		MaxTokens: limit, MinTokens: deref(g.MinTokens), IgnoreEOS: g.IgnoreEOS, Seed: g.Seed, N: deref(g.N),
		Stop: g.Stop, KeepStop: g.KeepStop,
	}
}

// deref is a number that need not be given.
func deref(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}

// order is what the parameters ask of the answer.
func (g *generation) order(r llm.Request, f form) *order {
	o := &order{model: g.Model, request: r, form: f, streamed: g.Stream, priority: g.Priority, alternatives: noLogprobs}
	if g.Options != nil {
		o.wantUsage, o.everyUsage = g.Options.IncludeUsage, g.Options.ContinuousUsage
	}
	return o
}
