package arrival

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"time"
)

// constant adds up a gap of a whole number of nanoseconds and a fraction, and
// carries the fraction.
type constant struct {
	due, horizon time.Duration
	gap          time.Duration
	part, whole  uint64 // a gap's fraction is part/whole
	carried      uint64 // of whole
}

// Constant returns evenly spaced arrivals over [0, horizon): the k-th, counted
// from 0, is due at k/rate, rounded down to a nanosecond. It does not drift: the
// rate is taken as the shortest decimal number that stands for it, and the sum is
// exact, so that 0.1 is an arrival every 10 s and 3 is three in every second.
func Constant(rate float64, horizon time.Duration) (Schedule, error) {
	if err := checkRate(rate); err != nil {
		return nil, err
	}
	if err := checkHorizon(horizon); err != nil {
		return nil, err
	}
	decimal := strconv.FormatFloat(rate, 'e', -1, 64)
	gap, ok := new(big.Rat).SetString(decimal)
	if !ok {
		return nil, fmt.Errorf("arrival: the rate %s could not be read", decimal) // no finite number gets here
	}
	gap.Quo(big.NewRat(int64(time.Second), 1), gap)
	c := &constant{horizon: horizon, gap: math.MaxInt64, whole: 1}
	ns, rest := new(big.Int).QuoRem(gap.Num(), gap.Denom(), new(big.Int))
	if ns.IsInt64() { // a longer gap is longer than any horizon
		// The denominator divides the rate's digits, of which there are 17 at most.
		c.gap, c.part, c.whole = time.Duration(ns.Int64()), rest.Uint64(), gap.Denom().Uint64()
	}
	return c, nil
}

// Next implements Schedule.
func (c *constant) Next() (time.Duration, bool) {
	due := c.due
	if due >= c.horizon {
		return 0, false
	}
	gap := c.gap
	if c.carried += c.part; c.carried >= c.whole {
		c.carried -= c.whole
		gap++
	}
	// The sum may be past what a duration holds; the horizon is not.
	c.due += min(gap, c.horizon-due)
	return due, true
}
