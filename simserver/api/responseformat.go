package api

import (
	"encoding/json"

	"llmsim-bench/simserver/llm"
)

// responseFormat is the parameter of the name.
type responseFormat struct {
	Type       string `json:"type"`
	JSONSchema *struct {
		Name        string          `json:"name"`
		Description *string         `json:"description"`
		Schema      json.RawMessage `json:"schema"`
		Strict      *bool           `json:"strict"`
	} `json:"json_schema"`
}

// anyObject is what an answer of the format json_object fits.
var anyObject = mustCompile(`{"type":"object","properties":{"answer":{"type":"string","minLength":8},"score":{"type":"integer","minimum":0,` +
	`"maximum":100},"done":{"type":"boolean"}},"required":["answer","score","done"],"additionalProperties":false}`)

func mustCompile(schema string) *llm.Schema {
	s, err := llm.CompileSchema([]byte(schema))
	if err != nil {
		panic("api: " + err.Error()) // it is part of the program
	}
	return s
}

// schema is what the answer has to fit; nil: it is text.
func (f *responseFormat) schema() (*llm.Schema, error) {
	if f == nil {
		return nil, nil
	}
	switch f.Type {
	case "text":
		return nil, nil
	case "json_object":
		return anyObject, nil
	case "json_schema":
	default:
		return nil, badField("response_format", "type %q is not simulated, must be \"text\", \"json_object\" or \"json_schema\"", f.Type)
	}
	const param = "response_format.json_schema"
	switch s := f.JSONSchema; {
	case s == nil:
		return nil, badField(param, "is missing, must hold name and schema")
	case !identifier.MatchString(s.Name):
		return nil, badField(param+".name", "%.80q is not possible, must be 1 to 64 letters, digits, underscores and dashes", s.Name)
	case len(s.Schema) == 0 || kindOf(s.Schema) == "null":
		return anyObject, nil
	}
	compiled, err := llm.CompileSchema(f.JSONSchema.Schema)
	if err != nil {
		return nil, badField(param+".schema", "%v", err)
	}
	return compiled, nil
}

// checkFormatKeys refuses what response_format does not have.
func checkFormatKeys(value []byte) error {
	if err := checkKeys("response_format", value, "type", "json_schema"); err != nil {
		return err
	}
	return members(value, func(key string, value []byte) error {
		if key != "json_schema" {
			return nil
		}
		return checkKeys("response_format.json_schema", value, "name", "description", "schema", "strict")
	})
}
