package schema

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// node is one schema as it was written: its keywords, each checked alone. A
// schema that is true has none.
type node struct {
	id    int // in the order of reading
	place *place

	never bool // the schema is false
	types typeSet
	// lists are the values of enum and of const: of each list, one.
	lists []valueList

	ref          *node
	allOf        []*node
	anyOf, oneOf []*node
	not          *node

	minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf *big.Rat

	minLength, maxLength *int
	pattern              *pattern
	format               string

	prefixItems        []*node
	items              *node
	minItems, maxItems *int
	uniqueItems        bool

	names                        []string // of properties, in order
	properties                   map[string]*node
	patternProperties            []patternProperty
	additionalProperties         *node
	required                     []string
	minProperties, maxProperties *int
}

// valueList is a list of values, the canonical texts of all, and how long the
// longest of these is.
type valueList struct {
	values  []any
	texts   map[string]bool
	longest int
}

func newValueList(values []any) valueList {
	l := valueList{values: values, texts: make(map[string]bool, len(values))}
	for _, value := range values {
		text := canonical(value)
		l.texts[text] = true
		l.longest = max(l.longest, len(text))
	}
	return l
}

type patternProperty struct {
	*pattern // of the name
	node     *node
}

// fail returns an error about a keyword of the schema.
func (n *node) fail(keyword, format string, args ...any) *Error {
	return &Error{Pointer: n.place.String(), Keyword: keyword, Problem: fmt.Sprintf(format, args...)}
}

// inPlace calls f with the schemas that hold for the same value.
func (n *node) inPlace(f func(*node)) {
	if n.ref != nil {
		f(n.ref)
	}
	if n.not != nil {
		f(n.not)
	}
	for _, list := range [][]*node{n.allOf, n.anyOf, n.oneOf} {
		for _, sub := range list {
			f(sub)
		}
	}
}

// inside calls f with the schemas that hold for parts of the value.
func (n *node) inside(f func(*node)) {
	for _, sub := range n.prefixItems {
		f(sub)
	}
	if n.items != nil {
		f(n.items)
	}
	for _, name := range n.names {
		f(n.properties[name])
	}
	for _, p := range n.patternProperties {
		f(p.node)
	}
	if n.additionalProperties != nil {
		f(n.additionalProperties)
	}
}

// property calls f with the schemas that hold for the property of a name.
func (n *node) property(name string, f func(*node)) {
	known := false
	if sub := n.properties[name]; sub != nil {
		known = true
		f(sub)
	}
	for _, p := range n.patternProperties {
		if p.matcher.MatchString(name) {
			known = true
			f(p.node)
		}
	}
	if !known && n.additionalProperties != nil {
		f(n.additionalProperties)
	}
}

// item returns the schema for an array's element at an index; nil: any.
func (n *node) item(i int) *node {
	if i < len(n.prefixItems) {
		return n.prefixItems[i]
	}
	return n.items
}

// place is where a schema stands. Its text is made only for errors: the texts of
// all places together may be much longer than the schema.
type place struct {
	parent  *place
	segment string
}

func (p *place) key(segment string) *place { return &place{parent: p, segment: segment} }
func (p *place) index(i int) *place        { return p.key(strconv.Itoa(i)) }

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// String returns the JSON pointer after "#". One that is very long is cut.
func (p *place) String() string {
	const longest = 1000
	var segments []string
	for size := 0; p.parent != nil; p = p.parent {
		segment := "/" + pointerEscapes.Replace(p.segment)
		if size += len(segment); size > longest {
			segments = append(segments, "/…")
			break
		}
		segments = append(segments, segment)
	}
	var b strings.Builder
	b.WriteByte('#')
	for i := len(segments) - 1; i >= 0; i-- {
		b.WriteString(segments[i])
	}
	return b.String()
}

// typeSet is a set of JSON types; 0: not restricted.
type typeSet uint8

const (
	nullType typeSet = 1 << iota
	booleanType
	integerType // the numbers without a fraction, also part of numberType
	numberType
	stringType
	arrayType
	objectType
)

var typeNames = []string{"null", "boolean", "integer", "number", "string", "array", "object"}

// intersect returns the types in both sets, of which neither is 0.
func (t typeSet) intersect(other typeSet) typeSet {
	both := t & other
	if t&numberType != 0 && other&integerType != 0 || t&integerType != 0 && other&numberType != 0 {
		both |= integerType
	}
	return both
}

// String returns the types' names.
func (t typeSet) String() string {
	var names []string
	for i, name := range typeNames {
		if t>>i&1 != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, " or ")
}
