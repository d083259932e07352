package schema

import (
	"bytes"
	"math/rand/v2"
)

// generator makes one value.
type generator struct {
	random *rand.Rand
	// extra is how many bytes may still be spent on what is not required.
	extra int
	// shift counts on from what is drawn among values and numbers, so that an
	// element that was there already becomes another one.
	shift int
	// work is how much may still be done to find elements that differ.
	work int
	err  *Error
}

// firstRandom is always the same.
func firstRandom() *rand.Rand { return rand.New(rand.NewPCG(0, 0)) }

// value appends a value of a shape that has one.
func (g *generator) value(dst []byte, s *shape, depth int) []byte {
	shift := g.shift
	g.shift = 0
	a, shift := g.choose(s, depth, shift)
	switch {
	case a.values != nil:
		return append(dst, g.listed(a, shift)...)
	case a.number != nil:
		return a.number.appendNumber(dst, shift, g.random)
	case a.text != nil:
		text := a.text.text(max(g.extra, 0), g.random)
		g.extra -= max(0, len(text)-a.text.shortestText())
		return appendString(dst, text)
	case a.array != nil:
		return g.array(dst, s, a.array, depth)
	}
	return g.object(dst, a.object, depth)
}

// choose draws one of the alternatives that can be afforded; the shortest always
// can. What it leaves of shift is for the alternative.
func (g *generator) choose(s *shape, depth, shift int) (*alternative, int) {
	extra := g.extra
	if depth > extraDepth {
		extra = 0
	}
	var few [8]*alternative
	affordable := few[:0]
	for _, a := range s.alternatives {
		if a.cost == s.cost || a.cost-s.cost <= extra {
			affordable = append(affordable, a)
		}
	}
	a := affordable[(g.random.IntN(len(affordable))+shift)%len(affordable)]
	g.extra -= a.cost - s.cost
	return a, shift / len(affordable)
}

// listed draws one of the values that can be afforded.
func (g *generator) listed(a *alternative, shift int) []byte {
	i := (g.random.IntN(len(a.values)) + shift) % len(a.values)
	for len(a.values[i])-a.cost > max(g.extra, 0) {
		i = (i + 1) % len(a.values)
	}
	g.extra -= len(a.values[i]) - a.cost
	return a.values[i]
}

// array appends an array of as many elements as it must have, and up to three
// more.
func (g *generator) array(dst []byte, s *shape, f *arrayFacts, depth int) []byte {
	most := f.min
	if depth < extraDepth && g.extra > 0 {
		most = min(f.max, f.min+3)
	}
	length := between(min(f.min, most), most, g.random)
	if f.min == 0 && length == 0 && most > 0 {
		length = 1 // an empty array is possible, but says nothing
	}
	dst = append(dst, '[')
	var had map[string]bool
	if f.unique {
		had = make(map[string]bool)
	}
	for i := range length {
		item := f.item(i)
		if i >= f.min {
			if item.cost >= endless || item.cost+1 > g.extra {
				break
			}
			g.extra -= item.cost + 1
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		end := len(dst)
		if dst = g.item(dst, item, had, depth+1); len(dst) > end {
			continue
		}
		if i < f.min {
			g.fail(s.nodes[0].fail("uniqueItems", "only %d different elements were found, must have %d", i, f.min))
		}
		dst = bytes.TrimSuffix(dst, []byte(","))
		break
	}
	return append(dst, ']')
}

// item appends an element that is not among those had already, or nothing. Where
// all may be equal, had is nil.
func (g *generator) item(dst []byte, s *shape, had map[string]bool, depth int) []byte {
	if had == nil {
		return g.value(dst, s, depth)
	}
	start, extra := len(dst), g.extra
	seed := [2]uint64{g.random.Uint64(), g.random.Uint64()}
	// Counting on finds one that is left of few; drawing anew one of many.
	for try := range 2*len(had) + 16 {
		if g.work < 0 {
			break
		}
		g.extra, g.shift = extra, try/2
		*g.random = *rand.New(rand.NewPCG(seed[0], seed[1]))
		if try%2 == 1 {
			*g.random = *rand.New(rand.NewPCG(seed[0], seed[1]+uint64(try)))
		}
		dst = g.value(dst, s, depth)
		g.work -= 10 + (len(dst)-start)/16
		made, err := decode(dst[start:], maxValueNesting)
		if err != nil {
			break // nested too deep, which is found again at the end
		}
		if key := canonical(made); !had[key] {
			had[key] = true
			return dst
		}
		dst = dst[:start]
	}
	return dst
}

// object appends an object with every property that it must have and by chance
// others.
func (g *generator) object(dst []byte, f *objectFacts, depth int) []byte {
	with := g.properties(f, depth)
	dst = append(dst, '{')
	first := true
	for i := range f.properties {
		if !with[i] {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(appendString(dst, f.properties[i].name), ':')
		dst = g.value(dst, f.properties[i].shape, depth+1)
	}
	return append(dst, '}')
}

// properties decides which properties an object has.
func (g *generator) properties(f *objectFacts, depth int) []bool {
	with := make([]bool, len(f.properties))
	n := 0
	var optional []int
	for i := range f.properties {
		switch p := &f.properties[i]; {
		case p.required:
			with[i] = true
			n++
		case p.shape.cost < endless:
			optional = append(optional, i)
		}
	}
	for _, i := range f.cheapest(optional) {
		with[i] = true
		n++
	}
	for _, i := range optional {
		size := f.properties[i].size()
		if with[i] || n >= f.max || depth >= extraDepth || size > g.extra || g.random.IntN(4) == 0 {
			continue
		}
		with[i] = true
		n++
		g.extra -= size
	}
	return with
}

func (g *generator) fail(err *Error) {
	if g.err == nil {
		g.err = err
	}
}
