package schema

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// bombs are schemas made to take long or to grow. None has to be accepted.
var bombs = map[string]string{
	"anyOf of anyOf":     chain(`{"anyOf": [{"$ref": "#/$defs/%[2]d"}, {"$ref": "#/$defs/%[2]d"}, {"type": "integer", "minimum": %[1]d}]}`, 60),
	"allOf of allOf":     chain(`{"allOf": [{"$ref": "#/$defs/%[2]d"}, {"$ref": "#/$defs/%[2]d"}, {"maxLength": %[1]d9}]}`, 60),
	"oneOf of oneOf":     chain(`{"oneOf": [{"$ref": "#/$defs/%[2]d"}, {"allOf": [{"$ref": "#/$defs/%[2]d"}]}]}`, 60),
	"doubling":           chain(`{"type": "object", "required": ["a", "b"], "properties": {"a": {"$ref": "#/$defs/%[2]d"}, "b": {"$ref": "#/$defs/%[2]d"}}}`, 40),
	"optional doubling":  chain(`{"type": "object", "properties": {"a": {"$ref": "#/$defs/%[2]d"}, "b": {"$ref": "#/$defs/%[2]d"}}}`, 400),
	"long recursion":     chain(`{"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/%[2]d"}}`, 3000),
	"branches":           `{"allOf": [` + repeated(`{"anyOf": [{"minimum": %d}, {"maximum": 5}, {"multipleOf": 3}]}`, 12) + `], "type": "integer"}`,
	"contradictions":     `{"allOf": [` + repeated(`{"anyOf": [{"enum": [%d]}, {"enum": ["a%[1]d"]}]}`, 40) + `]}`,
	"many properties":    `{"type": "object", "properties": {` + repeated(`"p%d": {"type": "string"}`, 6000) + `}, "allOf": [` + repeated(`{"anyOf": [{"required": ["p%d"]}, {"maxProperties": 3}]}`, 30) + `]}`,
	"many patterns":      `{"allOf": [` + repeated(`{"pattern": "^(a|b%d)*(c{0,900})?$"}`, 40) + `], "type": "string", "minLength": 60000}`,
	"long text":          `{"type": "string", "pattern": "^(a|b|c?d?e?f?g?h?){900}$", "minLength": 900}`,
	"longer text":        `{"type": "string", "pattern": "^([ab]?){1000}[cd]*(ef)*(g*h*)*$", "minLength": 65000}`,
	"pattern properties": `{"type": "object", "patternProperties": {` + repeated(`"(a|b){0,150}%d": {}`, 200) + `}, "minProperties": 3000}`,
	"large enum":         `{"type": "array", "minItems": 2000, "uniqueItems": true, "items": {"enum": [` + repeated(`%d`, 2000) + `]}}`,
	"large unique":       `{"type": "array", "minItems": 9000, "uniqueItems": true, "items": {"type": "integer", "minimum": 0, "maximum": 8999}}`,
	"large unique texts": `{"type": "array", "minItems": 600, "uniqueItems": true, "items": {"type": "string", "minLength": 90, "pattern": "^(a|b){90}$"}}`,
	"impossible unique":  `{"type": "array", "minItems": 30, "uniqueItems": true, "items": {"const": "` + strings.Repeat("a", 2000) + `"}}`,
	"common multiple":    `{"allOf": [` + repeated(`{"multipleOf": 1%03d00000000000000000000000000000000000000000000000000000000000000000007}`, 900) + `], "type": "number"}`,
	"small range":        `{"type": "number", "exclusiveMinimum": 1e-400, "exclusiveMaximum": 1.0000000001e-400}`,
	"long names":         `{"properties": {"` + strings.Repeat("/", 60_000) + `": {"properties": {` + repeated(`"p%d": {"type": "integer"}`, 3000) + `}}}}`,
	"large required":     `{"type": "array", "minItems": 60, "items": {"required": [` + repeated(`"p%d"`, 9000) + `]}}`,
	"long text, enums":   `{"type": "string", "minLength": 60000, "anyOf": [` + strings.Repeat(`{"enum": [1]}, `, 9990) + `{"type": "string"}]}`,
	"long enums":         `{"type": "string", "minLength": 60000, "anyOf": [{"enum": ["` + strings.Repeat("a", 61_000) + `"]}, ` + strings.Repeat(`{"$ref": "#/anyOf/0"}, `, 6000) + `{"type": "string"}]}`,
	"long text, lengths": `{"type": "string", "minLength": 60000, "anyOf": [` + strings.Repeat(`{"maxLength": 9}, `, 9990) + `{"type": "string"}]}`,
	"unique, many times": `{"type": "array", "minItems": 3000, "items": {"type": "integer", "minimum": 1000}, "anyOf": [` + strings.Repeat(`{"uniqueItems": true, "items": {"type": "string"}}, `, 2000) + `{"type": "array"}]}`,
	"required again":     `{"$defs": {"a": {"required": [` + repeated(`"p%d"`, 9000) + `]}}, "$ref": "#/$defs/a", "type": "object", "anyOf": [` + strings.Repeat(`{"allOf": [{"$ref": "#/$defs/a"}], "not": {}}, `, 1900) + `{"type": "object"}]}`,
	"long multiples":     `{"type": "integer", "minimum": 1e300, "anyOf": [` + strings.Repeat(`{"multipleOf": 1`+strings.Repeat("7", 20)+`e-300}, `, 5000) + `{"type": "integer"}]}`,
	"required texts":     `{"type": "array", "minItems": 8000, "items": {"type": "string", "pattern": "^[\\x00]{1,3}$"}}`,
}

// chain returns definitions of which each refers to the next, by a form that
// takes its number and the next's, and the last is {"type": "null"}.
func chain(form string, n int) string {
	var b strings.Builder
	b.WriteString(`{"$ref": "#/$defs/0", "$defs": {`)
	for i := range n {
		fmt.Fprintf(&b, `"%d": %s, `, i, fmt.Sprintf(strings.ReplaceAll(form, "%[1]d9", fmt.Sprint(i+9)), i, i+1))
	}
	fmt.Fprintf(&b, `"%d": {"type": ["null", "string"]}}}`, n)
	text := b.String()
	if i := strings.Index(text, "%!(EXTRA"); i >= 0 {
		panic(text[i:])
	}
	return text
}

// repeated returns n texts of a form that takes a number, with commas between.
func repeated(form string, n int) string {
	items := make([]string, n)
	for i := range items {
		items[i] = fmt.Sprintf(form, i)
	}
	return strings.Join(items, ", ")
}

// TestBombs: each is refused or has a value of bounded length, in bounded time.
// What is bounded is counted in steps, so that no clock is needed here; TestBudget
// shows that steps count what a long value takes.
func TestBombs(t *testing.T) {
	for name, raw := range bombs {
		t.Run(name, func(t *testing.T) {
			s, err := Compile([]byte(raw))
			if err != nil {
				t.Log(shortened(err.Error()))
				if len(err.Error()) > 5000 {
					t.Errorf("an error of %d bytes", len(err.Error()))
				}
				return
			}
			value := s.AppendJSON(nil, 1)
			t.Log(len(value), "bytes")
			if len(value) > 20*maxValueBytes {
				t.Errorf("a value of %d bytes", len(value))
			}
			if again := s.AppendJSON(nil, 1); !bytes.Equal(value, again) {
				t.Error("another value for the same seed")
			}
		})
	}
}

// TestBudget: work on a long value is counted by its length, values that share a
// budget share the work, and where none is left a value that fits is found still.
func TestBudget(t *testing.T) {
	taken := func(raw string) (steps, size int) {
		s, err := Compile([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		b := NewBudget()
		size = len(s.AppendWithin(nil, 1, b))
		steps = maxWork - b.work
		if s.AppendWithin(nil, 1, b); maxWork-b.work != 2*steps {
			t.Errorf("%.60s: a value takes %d steps, two take %d", raw, steps, maxWork-b.work)
		}
		b.work = -1
		for seed := range uint64(2) {
			if value := s.AppendWithin(nil, seed, b); !bytes.Equal(value, s.known) {
				t.Errorf("%.60s: without a budget the value is %.60s", raw, value)
			}
		}
		if b.work != -1 {
			t.Errorf("%.60s: work goes on without a budget", raw)
		}
		return steps, size
	}
	check := func(name, raw string, perByte float64) {
		t.Helper()
		steps, size := taken(raw)
		if least := int(perByte * float64(size)); steps < least {
			t.Errorf("%s: %d steps for %d bytes, want %d or more", name, steps, size, least)
		}
	}
	text := `{"type": "string", "minLength": 60000`
	check("decoding", text+`}`, 1./16)
	check("characters", `{"anyOf": [`+text+`}]}`, 2./16)
	same := `{"enum": ["` + strings.Repeat("b", 61_000) + `"]}`
	check("enums", text+`, "anyOf": [`+same+`, {"type": "string", "maxLength": 60000}, `+same+`], "oneOf": [`+text+`}, `+same+`]}`, 4./16)
	check("unique items", `{"type": "array", "minItems": 900, "items": {"type": "integer", "minimum": 100000}, "allOf": [`+strings.Repeat(`{"uniqueItems": true}, `, 20)+`{}]}`, 6)
}
