package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A check says what is wrong with a parameter's value, which is not null; empty:
// nothing.
type check func(value []byte) string

// parameters are those of an API that no field of its request takes: they are
// checked and have no effect, or are refused.
type parameters map[string]check

// samplingParameters are those of every API that generates text. There is no model
// to sample from, so that they change nothing.
var samplingParameters = parameters{
	"temperature":       number(0, 2),
	"top_p":             number(0, 1),
	"presence_penalty":  number(-2, 2),
	"frequency_penalty": number(-2, 2),
	"logit_bias":        logitBias,
	"user":              text,

	// vLLM's and SGLang's
	"top_k":                         integer(-1, 1<<31),
	"min_p":                         number(0, 1),
	"repetition_penalty":            number(0, 2),
	"length_penalty":                number(-100, 100),
	"stop_token_ids":                array,
	"bad_words":                     array,
	"allowed_token_ids":             array,
	"skip_special_tokens":           boolean,
	"spaces_between_special_tokens": boolean,
	"add_special_tokens":            boolean,
	"request_id":                    text,
	"rid":                           text,
	"cache_salt":                    text,
	"kv_transfer_params":            object,
	"vllm_xargs":                    object,
	"use_beam_search":               mustBeFalse,
	"return_token_ids":              mustBeFalse,
	"return_tokens_as_token_ids":    mustBeFalse,
	"prompt_logprobs":               refused("prompt tokens have no logprobs here"),
	"truncate_prompt_tokens":        refused("prompts are not cut"),
	"structured_outputs":            refused("use response_format"),
	"guided_json":                   refused("use response_format"),
	"guided_regex":                  refused("use response_format with a JSON schema"),
	"guided_choice":                 refused("use response_format with a JSON schema"),
	"guided_grammar":                refused("use response_format with a JSON schema"),
	"regex":                         refused("use response_format with a JSON schema"),
	"ebnf":                          refused("use response_format with a JSON schema"),
}

// chatParameters are those of /v1/chat/completions beside its request's fields.
var chatParameters = with(samplingParameters, parameters{
	"metadata":               metadata,
	"store":                  boolean,
	"parallel_tool_calls":    boolean,
	"service_tier":           oneOf("auto", "default", "flex", "scale", "priority"),
	"verbosity":              oneOf("low", "medium", "high"),
	"prediction":             object,
	"safety_identifier":      text,
	"prompt_cache_key":       text,
	"prompt_cache_retention": text,
	"modalities":             textOnly,
	"audio":                  refused("only text is simulated"),
	"web_search_options":     refused("there is nothing to search"),
	"functions":              refused("use tools"),
	"function_call":          refused("use tool_choice"),

	// vLLM's and SGLang's
	"add_generation_prompt":  boolean,
	"continue_final_message": boolean,
	"chat_template":          text,
	"chat_template_kwargs":   object,
	"documents":              array,
	"mm_processor_kwargs":    object,
	"echo":                   mustBeFalse,
	"include_reasoning":      boolean,
	"separate_reasoning":     boolean,
	"stream_reasoning":       boolean,
})

// completionParameters are those of /v1/completions beside its request's fields.
var completionParameters = with(samplingParameters, parameters{
	"best_of": integer(1, maxChoices),
	"echo":    mustBeFalse,
	"suffix":  refused("nothing is inserted into a text"),
})

func with(a, b parameters) parameters {
	both := maps.Clone(a)
	maps.Copy(both, b)
	return both
}

// checkMembers refuses members that no field of the request takes and that are not
// among the others, and those whose value is wrong. Of those that a field takes it
// calls more.
func (p parameters) checkMembers(body []byte, fields []string, more func(key string, value []byte) error) error {
	return members(body, func(key string, value []byte) error {
		if slices.Contains(fields, key) {
			return more(key, value)
		}
		check, known := p[key]
		if !known {
			e := badField(key, "is not a known parameter, see docs/server.md for those that are")
			e.code = "unknown_parameter"
			return e
		}
		if kindOf(value) == "null" {
			return nil
		}
		if problem := check(value); problem != "" {
			return badField(key, "%s", problem)
		}
		return nil
	})
}

// checkKeys refuses members of the object under a parameter that are not known.
func checkKeys(param string, object []byte, known ...string) error {
	return members(object, func(key string, _ []byte) error { return checkKey(param, key, known) })
}

func checkKey(param, key string, known []string) error {
	if slices.Contains(known, key) {
		return nil
	}
	e := badField(param+"."+key, "is not known, must be %s", strings.Join(known, ", "))
	e.code = "unknown_parameter"
	return e
}

// fieldNames are the JSON names of a struct's fields, those of embedded structs
// among them.
func fieldNames(of reflect.Type) (names []string) {
	for i := range of.NumField() {
		f := of.Field(i)
		if f.Anonymous {
			names = append(names, fieldNames(f.Type)...)
			continue
		}
		if name := f.Tag.Get("json"); name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}

func number(least, most float64) check {
	return func(value []byte) string {
		var n float64
		if kindOf(value) != "number" || json.Unmarshal(value, &n) != nil {
			return "must be a number, got " + kindOf(value)
		}
		if n < least || n > most {
			return fmt.Sprintf("%s is out of range, must be %g to %g", value, least, most)
		}
		return ""
	}
}

func integer(least, most int) check {
	return func(value []byte) string {
		n, err := strconv.Atoi(string(value))
		if kindOf(value) != "number" || err != nil {
			return "must be an integer, got " + kindOf(value) + " " + shortened(value)
		}
		if n < least || n > most {
			return fmt.Sprintf("%d is out of range, must be %d to %d", n, least, most)
		}
		return ""
	}
}

func ofKind(kind, name string) check {
	return func(value []byte) string {
		if kindOf(value) != kind {
			return "must be " + name + ", got " + kindOf(value)
		}
		return ""
	}
}

var (
	boolean = ofKind("boolean", "a boolean")
	text    = ofKind("string", "a string")
	object  = ofKind("object", "an object")
	array   = ofKind("array", "an array")
)

func oneOf(texts ...string) check {
	return func(value []byte) string {
		var s string
		if json.Unmarshal(value, &s) != nil || !slices.Contains(texts, s) {
			return shortened(value) + " is not possible, must be one of " + strings.Join(texts, ", ")
		}
		return ""
	}
}

// refused is a parameter that would change the answer's form.
func refused(instead string) check {
	return func([]byte) string { return "is not simulated: " + instead }
}

func mustBeFalse(value []byte) string {
	if string(value) != "false" {
		return shortened(value) + " is not simulated, must be false"
	}
	return ""
}

func textOnly(value []byte) string {
	var modes []string
	if json.Unmarshal(value, &modes) != nil || len(modes) != 1 || modes[0] != "text" {
		return shortened(value) + ` is not simulated, must be ["text"]`
	}
	return ""
}

// Limits of what OpenAI takes.
const (
	maxMetadata      = 16
	maxMetadataKey   = 64
	maxMetadataValue = 512
	maxBias          = 100
)

func metadata(value []byte) string {
	var pairs map[string]*string
	if json.Unmarshal(value, &pairs) != nil {
		return "must be an object whose values are strings"
	}
	if len(pairs) > maxMetadata {
		return fmt.Sprintf("has %d pairs, must have %d or fewer", len(pairs), maxMetadata)
	}
	for k, v := range pairs {
		if v == nil || utf8.RuneCountInString(k) > maxMetadataKey || utf8.RuneCountInString(*v) > maxMetadataValue {
			return fmt.Sprintf("the pair of %.80q is not possible, must be a key of at most %d characters and a string of at most %d",
				k, maxMetadataKey, maxMetadataValue)
		}
	}
	return ""
}

func logitBias(value []byte) string {
	var biases map[string]float64
	if json.Unmarshal(value, &biases) != nil {
		return "must be an object of token ids and numbers"
	}
	for id, bias := range biases {
		if _, err := strconv.ParseUint(id, 10, 32); err != nil {
			return fmt.Sprintf("%.80q is not a token id, must be a number in quotes", id)
		}
		if bias < -maxBias || bias > maxBias {
			return fmt.Sprintf("the bias %g of %s is out of range, must be %d to %d", bias, id, -maxBias, maxBias)
		}
	}
	return ""
}

// shortened is the beginning of a value, for an error.
func shortened(value []byte) string {
	const most = 80
	if len(value) <= most {
		return string(value)
	}
	return strings.ToValidUTF8(string(value[:most]), "") + "…"
}
