package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"

	"llmsim-bench/simserver/llm"
)

// maxTools is how many tools a request may define, as with OpenAI.
const maxTools = 128

// toolDefinition is a function that the model may call.
type toolDefinition struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description *string         `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
		Strict      *bool           `json:"strict"`
	} `json:"function"`
}

// toolChoice is the parameter of the name.
type toolChoice struct {
	mode string // none, auto, required or function; empty: not given
	name string // of the function
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *toolChoice) UnmarshalJSON(data []byte) error {
	const want = `"none", "auto", "required" or {"type":"function","function":{"name":…}}`
	switch kindOf(data) {
	case "null":
		return nil
	case "string":
		if err := json.Unmarshal(data, &c.mode); err != nil {
			return badField("tool_choice", "%v", err)
		}
		if c.mode != "none" && c.mode != "auto" && c.mode != "required" {
			return badField("tool_choice", "%q is not simulated, must be %s", c.mode, want)
		}
		return nil
	}
	var named struct {
		Type     string          `json:"type"`
		Function json.RawMessage `json:"function"`
	}
	var function struct {
		Name string `json:"name"`
	}
	if kindOf(data) != "object" || json.Unmarshal(data, &named) != nil || named.Type != functionCall {
		return badField("tool_choice", "%s is not simulated, must be %s", shortened(data), want)
	}
	if err := checkKeys("tool_choice", data, "type", "function"); err != nil {
		return err
	}
	if err := checkKeys("tool_choice.function", named.Function, "name"); err != nil {
		return err
	}
	if json.Unmarshal(named.Function, &function) != nil || function.Name == "" {
		return badField("tool_choice", "%s is not simulated, must be %s", shortened(data), want)
	}
	c.mode, c.name = "function", function.Name
	return nil
}

// checkToolKeys refuses what the definition of a function does not have. Of another
// kind of tool nothing is known.
func checkToolKeys(tools []byte) error {
	return elements(tools, func(i int, tool []byte) error {
		var of struct {
			Type     string          `json:"type"`
			Function json.RawMessage `json:"function"`
		}
		if json.Unmarshal(tool, &of) != nil || of.Type != functionCall {
			return nil
		}
		if err := checkKeys(fmt.Sprintf("tools[%d]", i), tool, "type", "function"); err != nil {
			return err
		}
		return checkKeys(fmt.Sprintf("tools[%d].function", i), of.Function, "name", "description", "parameters", "strict")
	})
}

// identifier is what functions and schemas are called.
var identifier = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func checkTools(tools []toolDefinition, choice toolChoice) error {
	if len(tools) > maxTools {
		return badField("tools", "has %d tools, must have %d or fewer", len(tools), maxTools)
	}
	found := false
	for i := range tools {
		t := &tools[i]
		if t.Type != "function" {
			return badField(fmt.Sprintf("tools[%d].type", i), "%q is not simulated, must be \"function\"", t.Type)
		}
		if !identifier.MatchString(t.Function.Name) {
			return badField(fmt.Sprintf("tools[%d].function.name", i),
				"%.80q is not possible, must be 1 to 64 letters, digits, underscores and dashes", t.Function.Name)
		}
		if p := t.Function.Parameters; len(p) > 0 && kindOf(p) != "object" && kindOf(p) != "null" {
			return badField(parametersOf(i), "must be a JSON Schema, which is an object, got %s", kindOf(p))
		}
		found = found || t.Function.Name == choice.name
	}
	switch {
	case choice.mode == "function" && !found:
		return badField("tool_choice", "the function %q is not among the tools", choice.name)
	case choice.mode == "required" && len(tools) == 0:
		return badField("tool_choice", "\"required\" needs tools, and there are none")
	}
	return nil
}

func parametersOf(i int) string { return fmt.Sprintf("tools[%d].function.parameters", i) }

// demanded returns the tools of which one must be called; none: the answer is free.
func demanded(tools []toolDefinition, choice toolChoice) (calls []llm.Tool, err error) {
	if choice.mode != "required" && choice.mode != "function" {
		return nil, nil
	}
	for i := range tools {
		f := &tools[i].Function
		if choice.mode == "function" && f.Name != choice.name {
			continue
		}
		schema, err := llm.CompileSchema(argumentsSchema(f.Parameters))
		if err != nil {
			return nil, badField(parametersOf(i), "%v", err)
		}
		calls = append(calls, llm.Tool{Name: f.Name, Parameters: schema})
	}
	return calls, nil
}

// argumentsSchema is a tool's schema, which holds for an object whether it says so
// or not. Without one there are no arguments.
func argumentsSchema(raw json.RawMessage) []byte {
	if len(raw) == 0 || kindOf(raw) == "null" {
		return []byte(`{"type":"object","maxProperties":0}`)
	}
	empty, typed := true, false
	_ = members(raw, func(key string, _ []byte) error {
		empty = false
		typed = typed || key == "type"
		return nil
	})
	if typed {
		return raw
	}
	object := []byte(`{"type":"object"`)
	if !empty {
		object = append(object, ',')
	}
	return append(object, raw[1:]...)
}

// toolsText is how the definitions stand in the prompt; empty: there are none.
func toolsText(raw []byte) string {
	if len(raw) == 0 || kindOf(raw) != "array" {
		return ""
	}
	var compact bytes.Buffer
	if json.Compact(&compact, raw) != nil || compact.Len() == len("[]") {
		return ""
	}
	return compact.String()
}
