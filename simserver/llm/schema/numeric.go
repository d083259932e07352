package schema

import (
	"math/big"
	"math/rand/v2"
)

// numberFacts are what a number must be: low to high times step.
type numberFacts struct {
	low, count *big.Int // the first multiple, and how many there are
	step       *big.Rat
}

// limit is one end of a range.
type limit struct {
	value *big.Rat // nil: none
	open  bool     // the value itself is outside
	by    *node
	word  string // the keyword
}

// maxNumberBits bounds what may come from several multipleOf together.
const maxNumberBits = 10_000

// combineNumbers returns what all of the schemas let a number be.
func combineNumbers(nodes []*node, whole bool) (*numberFacts, *Error) {
	low, high := limits(nodes)
	step, by, err := combineSteps(nodes, whole)
	if err != nil {
		return nil, err
	}
	low, high = window(low, high, step)
	contradiction := func() *Error {
		at, keyword := by, "multipleOf"
		switch {
		case low.by != nil:
			at, keyword = low.by, low.word
		case high.by != nil:
			at, keyword = high.by, high.word
		case at == nil:
			at, keyword = nodes[0], ""
		}
		return at.fail(keyword, "no number is in the range that the schemas of this value leave, must leave one")
	}
	if order := low.value.Cmp(high.value); order > 0 || order == 0 && (low.open || high.open) {
		return nil, contradiction()
	}
	if step != nil {
		if f := multiples(low, high, step); f != nil {
			return f, nil
		}
		return nil, contradiction()
	}
	// Decimal fractions of as many digits as it takes; two where they do.
	if f := multiples(low, high, new(big.Rat).SetFrac64(1, 100)); f != nil && (f.count.Cmp(big.NewInt(10)) > 0 || low.value.Cmp(high.value) == 0) {
		return f, nil
	}
	if low.value.Cmp(high.value) == 0 {
		return &numberFacts{low: big.NewInt(1), count: big.NewInt(1), step: low.value}, nil
	}
	ten, denominator := big.NewInt(10), big.NewInt(1000)
	for {
		f := multiples(low, high, new(big.Rat).SetFrac(big.NewInt(1), denominator))
		if f != nil && f.count.Cmp(ten) > 0 {
			return f, nil
		}
		denominator = new(big.Int).Mul(denominator, ten)
	}
}

// limits returns the narrowest limits of the schemas.
func limits(nodes []*node) (low, high limit) {
	for _, n := range nodes {
		for _, l := range []limit{{n.minimum, false, n, "minimum"}, {n.exclusiveMinimum, true, n, "exclusiveMinimum"}} {
			if l.value != nil && (low.value == nil || l.value.Cmp(low.value) > 0 || l.value.Cmp(low.value) == 0 && l.open) {
				low = l
			}
		}
		for _, h := range []limit{{n.maximum, false, n, "maximum"}, {n.exclusiveMaximum, true, n, "exclusiveMaximum"}} {
			if h.value != nil && (high.value == nil || h.value.Cmp(high.value) < 0 || h.value.Cmp(high.value) == 0 && h.open) {
				high = h
			}
		}
	}
	return low, high
}

// combineSteps returns the least common multiple of every multipleOf, and of 1
// for whole numbers; nil: any number. by is a schema that has one.
func combineSteps(nodes []*node, whole bool) (step *big.Rat, by *node, err *Error) {
	if whole {
		step = big.NewRat(1, 1)
	}
	for _, n := range nodes {
		m := n.multipleOf
		if m == nil {
			continue
		}
		by = n
		if step == nil {
			step = m
			continue
		}
		// Of fractions in lowest terms: lcm of numerators ÷ gcd of denominators.
		divisor := new(big.Int).GCD(nil, nil, step.Num(), m.Num())
		numerator := new(big.Int).Mul(step.Num(), new(big.Int).Quo(m.Num(), divisor))
		step = new(big.Rat).SetFrac(numerator, new(big.Int).GCD(nil, nil, step.Denom(), m.Denom()))
		if step.Num().BitLen() > maxNumberBits {
			return nil, nil, n.fail("multipleOf", "the least number that is a multiple of all is too large")
		}
	}
	return step, by, nil
}

// window sets the limits that are not given: so that there is something to choose
// from, and 0 and above where possible.
func window(low, high limit, step *big.Rat) (limit, limit) {
	width := big.NewRat(1000, 1)
	if step != nil {
		if steps := new(big.Rat).Mul(step, big.NewRat(100, 1)); steps.Cmp(width) > 0 {
			width = steps
		}
	}
	if low.value == nil {
		switch {
		case high.value == nil || high.value.Sign() > 0:
			low.value = new(big.Rat)
		default:
			low.value = new(big.Rat).Sub(high.value, width)
		}
	}
	if high.value == nil {
		high.value = new(big.Rat).Add(low.value, width)
	}
	return low, high
}

// multiples returns the multiples of step within the limits; nil: there are none.
func multiples(low, high limit, step *big.Rat) *numberFacts {
	first, exact := floor(new(big.Rat).Quo(low.value, step))
	if !exact || low.open {
		first.Add(first, big.NewInt(1))
	}
	last, exact := floor(new(big.Rat).Quo(high.value, step))
	if exact && high.open {
		last.Sub(last, big.NewInt(1))
	}
	count := new(big.Int).Sub(last, first)
	count.Add(count, big.NewInt(1))
	if count.Sign() <= 0 {
		return nil
	}
	return &numberFacts{low: first, count: count, step: step}
}

// floor returns the largest whole number not above r, and whether it is r.
func floor(r *big.Rat) (whole *big.Int, exact bool) {
	whole, rest := new(big.Int).DivMod(r.Num(), r.Denom(), new(big.Int))
	return whole, rest.Sign() == 0
}

// appendNumber appends one of the numbers; shift counts on from the one drawn.
func (f *numberFacts) appendNumber(dst []byte, shift int, random *rand.Rand) []byte {
	drawn := new(big.Int).SetUint64(random.Uint64())
	drawn.Add(drawn, big.NewInt(int64(shift)))
	drawn.Mod(drawn, f.count)
	return f.appendMultiple(dst, drawn.Add(drawn, f.low))
}

func (f *numberFacts) appendMultiple(dst []byte, multiple *big.Int) []byte {
	r := new(big.Rat).SetInt(multiple)
	r.Mul(r, f.step)
	digits, _ := r.FloatPrec() // exact: all steps are decimal fractions
	return append(dst, r.FloatString(digits)...)
}
