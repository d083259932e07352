package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"
)

// reference compiles a schema with an independent validator.
func reference(t rapid.TB, raw string) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(raw))
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	if err := c.AddResource("test.json", doc); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	s, err := c.Compile("test.json")
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return s
}

// checkSeeds says that the values of so many seeds are valid, bounded and always
// the same.
func checkSeeds(t rapid.TB, raw string, seeds uint64) {
	t.Helper()
	s, err := Compile([]byte(raw))
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	again, err := Compile([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	valid := reference(t, raw)
	for seed := range seeds {
		value := s.AppendJSON([]byte("x"), seed)[1:]
		instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
		if err != nil {
			t.Fatalf("%s\nseed %d gives %s: %v", raw, seed, value, err)
		}
		if err := valid.Validate(instance); err != nil {
			t.Fatalf("%s\nseed %d gives %s: %v", raw, seed, value, err)
		}
		if other := again.AppendJSON(nil, seed); !bytes.Equal(value, other) {
			t.Fatalf("%s\nseed %d gives %s and %s", raw, seed, value, other)
		}
	}
}

// TestAwkwardSchemas: what is generated is valid, for every one of many seeds.
func TestAwkwardSchemas(t *testing.T) {
	for _, raw := range awkward {
		t.Run(shortened(raw), func(t *testing.T) { checkSeeds(t, raw, 20) })
	}
}

func TestFormats(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(formats)) {
		t.Run(name, func(t *testing.T) { checkSeeds(t, `{"type": "string", "format": "`+name+`"}`, 20) })
	}
}

// TestECMAScriptEscapes: patterns may write characters as JavaScript does.
func TestECMAScriptEscapes(t *testing.T) {
	s, err := Compile([]byte(`{"type": "string", "pattern": "^\\u00e9\\u{1F389}\\\\u0041$"}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(s.AppendJSON(nil, 1)), `"é🎉\\u0041"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestSeedsDiffer: other seeds give other values, all alternatives among them.
func TestSeedsDiffer(t *testing.T) {
	s, err := Compile([]byte(`{"anyOf": [{"type": "string"}, {"type": "integer"}, {"enum": ["a", null]}, {"type": "array", "items": {"type": "boolean"}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	kinds := make(map[byte]int)
	distinct := make(map[string]bool)
	for seed := range uint64(200) {
		value := s.AppendJSON(nil, seed)
		kinds[value[0]]++
		distinct[string(value)] = true
	}
	if kinds['"'] == 0 || kinds['['] == 0 || kinds['n'] == 0 || len(distinct) < 80 {
		t.Errorf("200 seeds give %d values, that start with %v", len(distinct), kinds)
	}
}

// TestFirstDrawFits: drawing again is for what can only be checked afterwards.
func TestFirstDrawFits(t *testing.T) {
	for _, raw := range awkward {
		if strings.Contains(raw, "oneOf") || strings.Contains(raw, `"not"`) || strings.Count(raw, "pattern\"") > 1 || strings.Contains(raw, "(ab|cde)*") {
			continue
		}
		s, err := Compile([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		for seed := range uint64(20) {
			work := maxWork
			if value, err := s.draw(nil, seed, 0, &work); err != nil {
				t.Errorf("%s\nseed %d gives %s: %v", raw, seed, value, err)
				break
			}
		}
	}
}

// TestValuesSaySomething: what may be empty mostly is not.
func TestValuesSaySomething(t *testing.T) {
	for _, raw := range []string{
		`{"type": "string"}`, `{"type": "array", "items": {"type": "null"}}`, `{"type": "object", "additionalProperties": {"type": "null"}}`,
		`{"type": "object", "properties": {"a": {"type": "null"}, "b": {"type": "null"}}}`,
		`{"type": "object", "patternProperties": {"^a": {"type": "null"}}, "additionalProperties": false}`,
	} {
		s, err := Compile([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		empty := 0
		for seed := range uint64(100) {
			if len(s.AppendJSON(nil, seed)) == 2 {
				empty++
			}
		}
		if empty > 40 {
			t.Errorf("%s: %d of 100 values are empty", raw, empty)
		}
	}
}

// TestRecursionEndsSoon: what is not required stops at a depth, however much
// could be spent on more.
func TestRecursionEndsSoon(t *testing.T) {
	s, err := Compile([]byte(`{"type": "object", "properties": {"n": {"$ref": "#"}}, "additionalProperties": false}`))
	if err != nil {
		t.Fatal(err)
	}
	deepest := 0
	for seed := range uint64(300) {
		deepest = max(deepest, bytes.Count(s.AppendJSON(nil, seed), []byte("{")))
	}
	if deepest != extraDepth+1 {
		t.Errorf("the deepest of 300 values has %d levels, want %d", deepest, extraDepth+1)
	}
}

// TestPropertiesInOrder: strict mode's order is the schema's.
func TestPropertiesInOrder(t *testing.T) {
	s, err := Compile([]byte(`{"type": "object", "properties": {"z": {"const": 1}, "a": {"const": "<&>"}, "m": {"const": {"y": 1.50, "b": []}}},
		"required": ["m", "a", "z"], "additionalProperties": false}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(s.AppendJSON(nil, 1)), `{"z":1,"a":"<&>","m":{"y":1.50,"b":[]}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestErrorsNameThePlace(t *testing.T) {
	for _, tc := range refused {
		t.Run(shortened(tc.raw), func(t *testing.T) {
			s, err := Compile([]byte(tc.raw))
			var failed *Error
			if s != nil || !errors.As(err, &failed) {
				t.Fatalf("got %v, %v, want an Error", s, err)
			}
			if !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("got  %s\nwant %s…", err, tc.want)
			}
		})
	}
}

func FuzzCompile(f *testing.F) {
	for _, raw := range awkward {
		f.Add([]byte(raw), uint64(1))
	}
	for _, tc := range refused {
		f.Add([]byte(tc.raw), uint64(2))
	}
	f.Fuzz(func(t *testing.T, raw []byte, seed uint64) {
		s, err := Compile(raw)
		if err != nil {
			var failed *Error
			if s != nil || !errors.As(err, &failed) || failed.Pointer == "" || failed.Problem == "" {
				t.Fatalf("%v, %#v", s, err)
			}
			return
		}
		value := s.AppendJSON(nil, seed)
		if !json.Valid(value) || len(value) > 20*maxValueBytes {
			t.Fatalf("seed %d gives %d bytes: %.200s", seed, len(value), value)
		}
		if other := s.AppendJSON(nil, seed); !bytes.Equal(value, other) {
			t.Fatalf("seed %d gives %s and %s", seed, value, other)
		}
	})
}

func BenchmarkSchema(b *testing.B) {
	raw := []byte(awkward[0])
	b.Run("compile", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Compile(raw); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("append", func(b *testing.B) {
		s, err := Compile(raw)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		var dst []byte
		for seed := uint64(0); b.Loop(); seed++ {
			dst = s.AppendJSON(dst[:0], seed)
		}
		b.SetBytes(int64(len(dst)))
	})
}
