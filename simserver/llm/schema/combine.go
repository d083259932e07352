package schema

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// combiner finds the shapes of schemas and of all that is in them. Equal sets of
// schemas have one shape, so that recursion ends.
type combiner struct {
	shapes map[string]*shape
	order  []*shape
	work   int
}

// combine returns the shape of a schema that has a value.
func combine(root *node) (*shape, error) {
	c := &combiner{shapes: make(map[string]*shape), work: maxWork}
	top := c.shape([]*node{root})
	for i := 0; i < len(c.order); i++ {
		c.expand(c.order[i])
		if c.work < 0 || len(c.order) > maxShapes {
			return nil, root.fail("", "there are too many combinations of allOf, anyOf and oneOf in it, must be simpler")
		}
	}
	if evaluate(c.order, &c.work); c.work < 0 {
		return nil, root.fail("", "its recursion takes too long to follow, must be simpler")
	}
	if top.cost >= endless {
		return nil, top.explain()
	}
	if top.cost > maxValueBytes {
		return nil, root.fail("", "its smallest value has about %d bytes, must have %d at most", top.cost, maxValueBytes)
	}
	return top, nil
}

// shape returns the shape of values that all of the schemas allow. It is filled
// later.
func (c *combiner) shape(nodes []*node) *shape {
	ids := make([]int, len(nodes))
	for i, n := range nodes {
		ids[i] = n.id
	}
	slices.Sort(ids)
	var key []byte
	for _, id := range slices.Compact(ids) {
		key = binary.AppendUvarint(key, uint64(id))
	}
	c.work -= len(nodes)
	s := c.shapes[string(key)]
	if s == nil {
		s = &shape{nodes: nodes, cost: endless}
		c.shapes[string(key)] = s
		c.order = append(c.order, s)
	}
	return s
}

// choice is a schema that must hold, or several of which one must.
type choice struct {
	one *node
	any []*node
}

// expand fills a shape: each way of choosing from every anyOf and oneOf gives a
// list of schemas of which all keywords hold together.
func (c *combiner) expand(s *shape) {
	var follow func(pending []choice, flat []*node)
	follow = func(pending []choice, flat []*node) {
		for len(pending) > 0 {
			last := pending[len(pending)-1]
			pending = pending[:len(pending)-1]
			c.work -= 1 + len(flat)/8
			if c.work < 0 || len(s.alternatives) >= maxBranches {
				return
			}
			if n := last.one; n != nil {
				if slices.Contains(flat, n) {
					continue
				}
				if n.never {
					s.reject(n.fail("", "it is false, so that no value fits, must allow one"))
					return
				}
				flat = append(flat, n)
				pending = appendChoices(pending, n)
				continue
			}
			for _, n := range last.any {
				c.work -= len(flat) + len(pending)
				follow(append(slices.Clone(pending), choice{one: n}), slices.Clone(flat))
			}
			return
		}
		c.alternatives(s, flat)
	}
	var pending []choice
	for _, n := range slices.Backward(s.nodes) {
		pending = append(pending, choice{one: n})
	}
	if len(pending) == 0 {
		c.alternatives(s, []*node{{place: new(place)}}) // anything
		return
	}
	follow(pending, nil)
}

// appendChoices appends what must hold where n does; what is appended last comes
// first.
func appendChoices(pending []choice, n *node) []choice {
	for _, group := range [][]*node{n.oneOf, n.anyOf} {
		if len(group) > 0 {
			pending = append(pending, choice{any: group})
		}
	}
	for _, sub := range slices.Backward(n.allOf) {
		pending = append(pending, choice{one: sub})
	}
	if n.ref != nil {
		pending = append(pending, choice{one: n.ref})
	}
	return pending
}

// reject keeps the first reason why something is no alternative.
func (s *shape) reject(err *Error) {
	if s.err == nil {
		s.err = err
	}
}

// alternatives adds those of schemas that all hold, one for each type.
func (c *combiner) alternatives(s *shape, flat []*node) {
	types := typeSet(0)
	for _, n := range flat {
		switch {
		case n.types == 0:
		case types == 0:
			types = n.types
		default:
			both := types.intersect(n.types)
			if both == 0 {
				s.reject(n.fail("type", "it is %s here and %s in another schema of the same value, must have a type in common", n.types, types))
				return
			}
			types = both
		}
	}
	for _, n := range flat {
		if len(n.lists) > 0 {
			c.listed(s, n)
			return
		}
	}
	if types == 0 {
		types = likelyTypes(flat)
	}
	if types&numberType != 0 {
		types &^= integerType
	}
	for i := range typeNames {
		t := typeSet(1) << i
		if types&t == 0 {
			continue
		}
		if a, err := c.typed(flat, t); err != nil {
			s.reject(err)
		} else {
			a.cost = endless
			s.alternatives = append(s.alternatives, a)
		}
	}
}

// listed adds the values of n's enum and const that fit the whole shape.
func (c *combiner) listed(s *shape, n *node) {
	a := &alternative{cost: endless}
	check := validator{work: c.work}
	for _, value := range n.lists[0].values {
		fits := true
		for _, other := range s.nodes {
			fits = fits && check.check(other, value) == nil
		}
		if text := appendValue(nil, value); fits && len(text) <= maxValueBytes {
			a.values = append(a.values, text)
		}
	}
	c.work = check.work
	if a.values == nil {
		s.reject(n.fail("enum", "none of its values fits the other schemas of the same value, one must (const is an enum of one)"))
		return
	}
	s.alternatives = append(s.alternatives, a)
}

// likelyTypes are the types that schemas without a type speak of.
func likelyTypes(nodes []*node) (types typeSet) {
	for _, n := range nodes {
		if n.properties != nil || n.patternProperties != nil || n.additionalProperties != nil || n.required != nil || n.minProperties != nil || n.maxProperties != nil {
			types |= objectType
		}
		if n.prefixItems != nil || n.items != nil || n.minItems != nil || n.maxItems != nil || n.uniqueItems {
			types |= arrayType
		}
		if n.minLength != nil || n.maxLength != nil || n.pattern != nil || n.format != "" {
			types |= stringType
		}
		if n.minimum != nil || n.maximum != nil || n.exclusiveMinimum != nil || n.exclusiveMaximum != nil || n.multipleOf != nil {
			types |= numberType
		}
	}
	if types == 0 {
		types = stringType | integerType | booleanType
	}
	return types
}

// typed returns the alternative of one type.
func (c *combiner) typed(flat []*node, t typeSet) (a *alternative, err *Error) {
	a = new(alternative)
	switch t {
	case nullType:
		a.values = [][]byte{[]byte("null")}
	case booleanType:
		a.values = [][]byte{[]byte("false"), []byte("true")}
	case integerType, numberType:
		a.number, err = combineNumbers(flat, t == integerType)
	case stringType:
		a.text, err = combineTexts(flat)
	case arrayType:
		a.array, err = c.combineArrays(flat)
	case objectType:
		a.object, err = c.combineObjects(flat)
	}
	return a, err
}

// sizes returns the narrowest of the schemas' least and most, and who says so.
func sizes(flat []*node, least, most func(*node) *int) (low, high int, by *node) {
	high = noBound
	for _, n := range flat {
		if l := least(n); l != nil && *l > low {
			low, by = *l, n
		}
		if m := most(n); m != nil && *m < high {
			high = *m
		}
	}
	return low, high, by
}

func combineTexts(flat []*node) (*textFacts, *Error) {
	low, high, by := sizes(flat, func(n *node) *int { return n.minLength }, func(n *node) *int { return n.maxLength })
	if low > high {
		return nil, by.fail("minLength", "%d is above maxLength, which is %d for the same value, must not be", low, high)
	}
	f := &textFacts{minLength: low, maxLength: high}
	for _, n := range flat {
		if n.pattern != nil {
			f.patterns = append(f.patterns, n.pattern)
			if least := shortest(n.pattern.tree); least > high {
				return nil, n.fail("pattern", "what it matches has %d characters or more, and maxLength is %d, must be so many at least", least, high)
			}
		}
		if f.format == "" || formats[f.format] == nil {
			f.format = n.format
		}
	}
	return f, nil
}

func (c *combiner) combineArrays(flat []*node) (*arrayFacts, *Error) {
	low, high, by := sizes(flat, func(n *node) *int { return n.minItems }, func(n *node) *int { return n.maxItems })
	if low > high {
		return nil, by.fail("minItems", "%d is above maxItems, which is %d for the same value, must not be", low, high)
	}
	f := &arrayFacts{min: low, max: high}
	prefix := 0
	for _, n := range flat {
		f.unique = f.unique || n.uniqueItems
		prefix = max(prefix, len(n.prefixItems))
	}
	for i := range prefix + 1 {
		var nodes []*node
		for _, n := range flat {
			if item := n.item(i); item != nil {
				nodes = append(nodes, item)
			}
		}
		if s := c.shape(nodes); i < prefix {
			f.prefix = append(f.prefix, s)
		} else {
			f.rest = s
		}
	}
	return f, nil
}

// A map is an object whose schemas name no properties but say what they are. So
// many are made up for one.
const mapProperties = 3

func (c *combiner) combineObjects(flat []*node) (*objectFacts, *Error) {
	low, high, by := sizes(flat, func(n *node) *int { return n.minProperties }, func(n *node) *int { return n.maxProperties })
	if low > high {
		return nil, by.fail("minProperties", "%d is above maxProperties, which is %d for the same value, must not be", low, high)
	}
	f := &objectFacts{max: high}
	at := make(map[string]int) // in f.properties
	add := func(name string, required bool) {
		i, known := at[name]
		if !known {
			i = len(f.properties)
			at[name] = i
			var nodes []*node
			for _, n := range flat {
				c.work -= 1 + n.patternWork(name)
				n.property(name, func(sub *node) { nodes = append(nodes, sub) })
			}
			f.properties = append(f.properties, property{name: name, shape: c.shape(nodes)})
		}
		f.properties[i].required = f.properties[i].required || required
	}
	isMap := false
	for _, n := range flat {
		for _, name := range n.names {
			add(name, false)
		}
		isMap = isMap || n.additionalProperties != nil && !n.additionalProperties.never
	}
	required := 0
	for _, n := range flat {
		for _, name := range n.required {
			add(name, true)
		}
	}
	for _, p := range f.properties {
		if p.required {
			required++
		}
	}
	for _, n := range flat {
		if required > high && n.required != nil {
			return nil, n.fail("required", "%d properties are required and maxProperties is %d, must be so many at least", required, high)
		}
	}
	f.optional = max(0, low-required)
	more := low - len(f.properties)
	if len(f.properties) == 0 && isMap {
		more = max(more, mapProperties)
	}
	if more > maxValueBytes {
		return nil, by.fail("minProperties", "%d is not supported, must be %d at most", low, maxValueBytes)
	}
	// Names of the patterns' own, then plain ones.
	for _, n := range flat {
		for _, p := range n.patternProperties {
			if len(f.properties) < low || len(f.properties) == 0 {
				add(string(appendMatch(nil, p.tree, 0, firstRandom())), false)
			}
		}
	}
	for i := 1; more > 0 && c.work > 0; i++ {
		if name := fmt.Sprintf("key%d", i); !hasKey(at, name) {
			add(name, false)
			more--
		}
	}
	return f, nil
}

func hasKey(m map[string]int, key string) bool { _, ok := m[key]; return ok }
