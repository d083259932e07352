package schema

import "slices"

// shape is what all of a set of schemas together allow, as a choice of
// alternatives, each of which is enough.
type shape struct {
	nodes        []*node
	alternatives []*alternative
	// err says why there are no alternatives.
	err *Error
	// cost is the length in bytes of the shortest value, more or less; endless:
	// there is none.
	cost int
}

const endless = 1 << 40

// plus adds costs. A sum is endless only where a part is.
func plus(a, b int) int {
	if a >= endless || b >= endless {
		return endless
	}
	return min(a+b, endless-1)
}

func times(n, cost int) int {
	if cost > 0 && cost < endless && n > (endless-1)/cost {
		return endless - 1
	}
	return min(n*cost, endless)
}

// alternative is one kind of value.
type alternative struct {
	cost int
	// One of these is set.
	values [][]byte // as JSON
	number *numberFacts
	text   *textFacts
	array  *arrayFacts
	object *objectFacts
}

// arrayFacts are what an array must be.
type arrayFacts struct {
	prefix   []*shape
	rest     *shape
	min, max int
	unique   bool
}

func (f *arrayFacts) item(i int) *shape {
	if i < len(f.prefix) {
		return f.prefix[i]
	}
	return f.rest
}

// objectFacts are what an object must be: its possible properties, in order.
type objectFacts struct {
	properties []property
	max        int
	// optional is how many that are not required it must have.
	optional int
}

type property struct {
	name     string
	shape    *shape
	required bool
}

// size is what the property takes in an object, in bytes.
func (p *property) size() int { return plus(p.shape.cost, len(p.name)+4) }

// evaluate sets every shape's cost. A cost only ever falls, to the least there
// is, so that a recursion has a cost where it can end.
// What it takes is taken from work; it stops where that is done.
func evaluate(shapes []*shape, work *int) {
	for changed := true; changed && *work >= 0; {
		changed = false
		for i := len(shapes) - 1; i >= 0; i-- { // parts come after what they are parts of
			s := shapes[i]
			for _, a := range s.alternatives {
				switch {
				case a.array != nil:
					*work -= 1 + len(a.array.prefix)
				case a.object != nil:
					*work -= 1 + len(a.object.properties)
				case a.cost < endless:
					continue // it has no parts, and so is known
				}
				a.cost = min(a.cost, a.shortest())
				if a.cost < s.cost {
					s.cost, changed = a.cost, true
				}
			}
		}
	}
}

// shortest returns the alternative's cost by its parts'.
func (a *alternative) shortest() int {
	switch {
	case a.values != nil:
		cost := endless
		for _, value := range a.values {
			cost = min(cost, len(value))
		}
		return cost
	case a.number != nil:
		return len(a.number.appendMultiple(nil, a.number.low))
	case a.text != nil:
		return 2 + a.text.shortestText()
	case a.array != nil:
		return a.array.shortest()
	}
	return a.object.shortest()
}

func (f *arrayFacts) shortest() int {
	cost := 2
	for i := range min(f.min, len(f.prefix)) {
		cost = plus(cost+1, f.prefix[i].cost)
	}
	if n := f.min - len(f.prefix); n > 0 {
		cost = plus(cost, times(n, plus(f.rest.cost, 1)))
	}
	return cost
}

func (f *objectFacts) shortest() int {
	cost := 2
	var optional []int
	for i := range f.properties {
		if p := &f.properties[i]; p.required {
			cost = plus(cost, p.size())
		} else if f.optional > 0 {
			optional = append(optional, p.size())
		}
	}
	if f.optional > len(optional) {
		return endless
	}
	slices.Sort(optional)
	for _, size := range optional[:f.optional] {
		cost = plus(cost, size)
	}
	return cost
}

// cheapest returns as many of the optional properties as an object must have,
// the shortest.
func (f *objectFacts) cheapest(optional []int) []int {
	if f.optional == 0 {
		return nil
	}
	sorted := slices.Clone(optional)
	slices.SortStableFunc(sorted, func(a, b int) int { return f.properties[a].size() - f.properties[b].size() })
	return sorted[:f.optional]
}

// explain returns why a shape has no value.
func (s *shape) explain() *Error {
	seen := make(map[*shape]bool)
	for !seen[s] {
		seen[s] = true
		if len(s.alternatives) == 0 && s.err != nil {
			return s.err
		}
		if len(s.alternatives) == 0 {
			return s.nodes[0].fail("", "no value was found that fits it")
		}
		part := s.alternatives[0].impossible()
		if part == nil {
			break
		}
		s = part
	}
	return s.nodes[0].fail("", "every value of it holds another of its kind without end, must be able to stop")
}

// impossible returns a part without a value that the alternative needs.
func (a *alternative) impossible() *shape {
	switch {
	case a.array != nil:
		for i := range a.array.min {
			if item := a.array.item(i); item.cost >= endless {
				return item
			} else if i >= len(a.array.prefix) {
				break // the rest are the same
			}
		}
	case a.object != nil:
		for _, p := range a.object.properties {
			if (p.required || a.object.optional > 0) && p.shape.cost >= endless {
				return p.shape
			}
		}
	}
	return nil
}
