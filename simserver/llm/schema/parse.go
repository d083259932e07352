package schema

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// parser reads a schema and those it refers to. A schema is read once, so that
// recursion ends.
type parser struct {
	root  any
	nodes map[*object]*node
	count int
	// patterns is how much of all patterns there is yet.
	patterns int
}

// maxPatternSizes bounds the sizes of all patterns together: in memory one takes
// about a hundred times as many bytes.
const maxPatternSizes = 50_000

func (p *parser) pattern(source string) (*pattern, error) {
	made, err := newPattern(source)
	if err != nil {
		return nil, err
	}
	if p.patterns += made.size; p.patterns > maxPatternSizes {
		return nil, fmt.Errorf("the patterns have more than %d parts together, must have fewer", maxPatternSizes)
	}
	return made, nil
}

func parse(raw []byte) (*node, error) {
	top := new(place)
	fail := func(format string, args ...any) error {
		return (&node{place: top}).fail("", format, args...)
	}
	if len(raw) > maxSchemaBytes {
		return nil, fail("it has %d bytes, must have %d at most", len(raw), maxSchemaBytes)
	}
	value, err := decode(raw, maxNesting)
	if err != nil {
		return nil, fail("not valid JSON: %v", err)
	}
	p := &parser{root: value, nodes: make(map[*object]*node)}
	root, failed := p.node(value, top)
	if failed != nil {
		return nil, failed
	}
	if failed := refuseLoops(root); failed != nil {
		return nil, failed
	}
	return root, nil
}

// node reads the schema at a place.
func (p *parser) node(value any, at *place) (*node, *Error) {
	o, isObject := value.(*object)
	if n := p.nodes[o]; isObject && n != nil {
		return n, nil
	}
	n := &node{id: p.count, place: at}
	if p.count++; p.count > maxNodes {
		return nil, n.fail("", "there are more than %d schemas in it, must be fewer", maxNodes)
	}
	if truth, isBool := value.(bool); isBool {
		n.never = !truth
		return n, nil
	}
	if !isObject {
		return nil, n.fail("", "it is %s, must be an object, true or false", describe(value))
	}
	p.nodes[o] = n
	for _, keyword := range o.keys {
		read := keywords[keyword]
		if read == nil {
			continue // an annotation, or unknown, and so without effect
		}
		if err := read(p, n, o.values[keyword]); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// target returns the schema that a $ref names.
func (p *parser) target(from *node, ref string) (*node, *Error) {
	pointer, local := strings.CutPrefix(ref, "#")
	if !local || pointer != "" && pointer[0] != '/' {
		return nil, from.fail("$ref", "%q is not supported, must be # or a place in this schema such as #/$defs/name", ref)
	}
	value, at := p.root, new(place)
	if pointer == "" {
		return p.node(value, at)
	}
	for _, segment := range strings.Split(pointer[1:], "/") {
		if unescaped, err := url.PathUnescape(segment); err == nil {
			segment = unescaped
		}
		segment = strings.ReplaceAll(strings.ReplaceAll(segment, "~1", "/"), "~0", "~")
		next, found := any(nil), false
		switch v := value.(type) {
		case *object:
			next, found = v.values[segment]
		case []any:
			if i, err := strconv.Atoi(segment); err == nil && i >= 0 && i < len(v) {
				next, found = v[i], true
			}
		}
		if !found {
			return nil, from.fail("$ref", "%q leads nowhere: there is no %q at %s", ref, segment, at)
		}
		value, at = next, at.key(segment)
	}
	return p.node(value, at)
}

// refuseLoops refuses schemas that refer to themselves for the same value, of
// which nothing follows.
func refuseLoops(root *node) *Error {
	const open, done = 1, 2
	state := make(map[*node]int)
	var failed *Error
	var inside []*node // yet to visit
	var visit func(n *node)
	visit = func(n *node) {
		switch state[n] {
		case open:
			if failed == nil {
				failed = n.fail("$ref", "it refers to itself without end, must reach a schema that does not")
			}
			return
		case done:
			return
		}
		state[n] = open
		n.inPlace(visit)
		state[n] = done
		n.inside(func(sub *node) { inside = append(inside, sub) })
	}
	for inside = append(inside, root); len(inside) > 0 && failed == nil; {
		last := inside[len(inside)-1]
		inside = inside[:len(inside)-1]
		visit(last)
	}
	return failed
}

// describe names what a value is, for errors.
func describe(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		return shortened(string(v))
	case string:
		return shortened(strconv.Quote(v))
	case []any:
		return "an array"
	}
	return "an object"
}

func shortened(s string) string {
	const longest = 80
	if len(s) > longest {
		return strings.ToValidUTF8(s[:longest], "") + "…"
	}
	return s
}

// typeOf returns the type named.
func typeOf(name string) typeSet {
	if i := slices.Index(typeNames, name); i >= 0 {
		return 1 << i
	}
	return 0
}
