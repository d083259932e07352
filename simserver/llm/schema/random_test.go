package schema

import (
	"encoding/json"
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// schemaOf draws a schema that has values, of so many levels at most. Those in
// $defs are called d0 to d2; recursive ones may be left out of what they are in.
func schemaOf(t *rapid.T, levels int) map[string]any {
	kinds := []string{"string", "pattern", "integer", "number", "listed", "ref", "plain"}
	if levels > 0 {
		kinds = append(kinds, "array", "tuple", "object", "map", "anyOf", "allOf", "oneOf", "nullable")
	}
	sub := func() map[string]any { return schemaOf(t, levels-1) }
	subs := func(label string) (list []any) {
		for range rapid.IntRange(1, 3).Draw(t, label) {
			list = append(list, sub())
		}
		return list
	}
	low := rapid.IntRange(-20, 20).Draw(t, "low")
	wide := rapid.IntRange(0, 12).Draw(t, "wide")
	switch kind := rapid.SampledFrom(kinds).Draw(t, "kind"); kind {
	case "string":
		return map[string]any{"type": "string", "minLength": wide, "maxLength": wide + rapid.IntRange(0, 5).Draw(t, "longer")}
	case "pattern":
		pattern := rapid.SampledFrom([]string{"^[a-f]+$", "x", "^\\d{2,}-", "(foo|barbar)*$", "^.?[^x]\\w*$", "[A-Z]{3}", "^(a|b)(c|d)*e?$"}).Draw(t, "pattern")
		return map[string]any{"type": "string", "pattern": pattern, "maxLength": rapid.IntRange(3, 30).Draw(t, "longest")}
	case "integer":
		s := map[string]any{"type": "integer", "minimum": low, "exclusiveMaximum": low + wide + 1}
		if step := rapid.IntRange(1, 5).Draw(t, "step"); step <= wide {
			s["multipleOf"] = step
		}
		return s
	case "number":
		bounds := rapid.SampledFrom([]string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}).Draw(t, "bound")
		s := map[string]any{"type": "number", bounds: json.Number(fmt.Sprintf("%d.%03d", low, wide))}
		if rapid.Bool().Draw(t, "steps") {
			s["multipleOf"] = json.Number(rapid.SampledFrom([]string{"0.1", "0.025", "3", "1e-3"}).Draw(t, "step"))
		}
		return s
	case "listed":
		list := []any{1, "a", nil, true, []any{low}, map[string]any{"x": 1.5}}[:1+wide%6]
		if len(list) == 1 {
			return map[string]any{"const": list[0]}
		}
		return map[string]any{"enum": list}
	case "ref":
		return map[string]any{"$ref": fmt.Sprintf("#/$defs/d%d", wide%3)}
	case "array":
		return map[string]any{"type": "array", "items": sub(), "minItems": wide % 4, "maxItems": wide%4 + low&1}
	case "tuple":
		list := subs("tuple")
		return map[string]any{"type": "array", "prefixItems": list, "items": rapid.Bool().Draw(t, "rest"), "minItems": len(list)}
	case "object":
		properties, required := map[string]any{}, []any{}
		for i := range rapid.IntRange(0, 4).Draw(t, "properties") {
			name := fmt.Sprintf("p%d", i)
			properties[name] = sub()
			if rapid.Bool().Draw(t, "required") {
				required = append(required, name)
			}
		}
		return map[string]any{
			"type": "object", "properties": properties, "required": required, "additionalProperties": false,
			"minProperties": len(required), "maxProperties": max(len(required), wide),
		}
	case "map":
		return map[string]any{"type": "object", "additionalProperties": sub(), "minProperties": wide % 3}
	case "anyOf":
		return map[string]any{"anyOf": append(subs("anyOf"), false)}
	case "nullable":
		return map[string]any{"anyOf": []any{sub(), map[string]any{"type": "null"}}}
	case "oneOf":
		return map[string]any{"oneOf": []any{
			map[string]any{"type": "object", "properties": map[string]any{"kind": map[string]any{"const": "a"}, "v": sub()}, "required": []any{"kind", "v"}},
			map[string]any{"type": "object", "properties": map[string]any{"kind": map[string]any{"const": "b"}}, "required": []any{"kind"}},
		}}
	case "allOf":
		return map[string]any{"allOf": []any{
			map[string]any{"type": "object", "properties": map[string]any{"a": sub()}, "required": []any{"a"}},
			map[string]any{"properties": map[string]any{"b": sub()}},
		}}
	}
	return map[string]any{"type": rapid.SampledFrom([]any{
		"null", "boolean", "integer", "number", "string", "object", "array", []any{"string", "null"}, []any{"integer", "array"},
	}).Draw(t, "type")}
}

// random draws a whole schema: three definitions and one that may refer to them.
// A definition is whole without any other, for it may also be null.
func random(t *rapid.T) map[string]any {
	definitions := map[string]any{}
	for i := range 3 {
		definitions[fmt.Sprintf("d%d", i)] = map[string]any{"anyOf": []any{
			map[string]any{"type": "array", "items": schemaOf(t, 2)}, map[string]any{"type": "null"},
		}}
	}
	s := schemaOf(t, 3)
	s["$defs"] = definitions
	return s
}

func TestRandomSchemas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw, err := json.Marshal(random(t))
		if err != nil {
			t.Fatal(err)
		}
		checkSeeds(t, string(raw), 3)
	})
}

// TestRandomCombinations: of schemas put together blindly, those that are
// accepted have valid values.
func TestRandomCombinations(t *testing.T) {
	accepted := 0
	rapid.Check(t, func(t *rapid.T) {
		s := random(t)
		keyword := rapid.SampledFrom([]string{"allOf", "oneOf", "anyOf"}).Draw(t, "keyword")
		s[keyword] = []any{schemaOf(t, 1), schemaOf(t, 1), map[string]any{"not": schemaOf(t, 0)}}
		raw, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Compile(raw); err != nil {
			return
		}
		accepted++
		checkSeeds(t, string(raw), 3)
	})
	if !t.Failed() && accepted < 5 {
		t.Errorf("only %d were accepted", accepted)
	}
}
