package workload

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"strconv"
	"strings"
)

// MaxTokens is the largest length accepted, in tokens.
const MaxTokens = 1 << 24

// Lengths says how many tokens each of many requests has: any number from Min to
// Max, all alike likely. Where both are the same, it is always that number.
type Lengths struct {
	Min int `json:"min"`
	Max int `json:"max"`
}

// Fixed returns the Lengths that are always n.
func Fixed(n int) Lengths { return Lengths{n, n} }

// lengthsMark stands between the two numbers of a range.
const lengthsMark = ".."

// ParseLengths reads "512" or "256..1024".
func ParseLengths(text string) (Lengths, error) {
	first, last, isRange := strings.Cut(text, lengthsMark)
	if !isRange {
		last = first
	}
	var l Lengths
	for _, part := range []struct {
		text string
		n    *int
	}{{first, &l.Min}, {last, &l.Max}} {
		n, err := strconv.Atoi(strings.TrimSpace(part.text))
		if err != nil {
			return Lengths{}, fmt.Errorf("lengths %q: %q is no whole number; give a number of tokens or a range, such as 512 or 256..1024", text, part.text)
		}
		*part.n = n
	}
	if err := l.Check(); err != nil {
		return Lengths{}, fmt.Errorf("lengths %q: %w", text, err)
	}
	return l, nil
}

// Check returns an error that says which length is not possible.
func (l Lengths) Check() error {
	switch {
	case l.Min < 1 || l.Max > MaxTokens:
		return fmt.Errorf("%v tokens are not possible, must be 1 to %d", l, MaxTokens)
	case l.Max < l.Min:
		return fmt.Errorf("%v tokens are not possible, the first number must not be the larger one", l)
	}
	return nil
}

// String is what ParseLengths reads.
func (l Lengths) String() string {
	if l.Min == l.Max {
		return strconv.Itoa(l.Min)
	}
	return strconv.Itoa(l.Min) + lengthsMark + strconv.Itoa(l.Max)
}

// Mean returns the mean number of tokens.
func (l Lengths) Mean() float64 { return (float64(l.Min) + float64(l.Max)) / 2 }

// draw returns the length that a seed and the number of a request give.
func (l Lengths) draw(seed uint64, i int64) int {
	return l.Min + drawBelow(seed, i, l.Max-l.Min+1)
}

// drawBelow returns a number of [0, n) that a seed and the number of a request
// give.
func drawBelow(seed uint64, i int64, n int) int {
	if n == 1 {
		return 0
	}
	var pcg rand.PCG
	pcg.Seed(seed, scramble(uint64(i)))
	return below(&pcg, n)
}

// below draws from [0, n): the high word of a product maps 64 random bits there.
func below(pcg *rand.PCG, n int) int {
	k, _ := bits.Mul64(pcg.Uint64(), uint64(n))
	return int(k)
}
