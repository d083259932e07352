package load

import (
	"errors"
	"fmt"
	"math"
	"time"

	"llmsim-bench/internal/splitmix"
)

// Leave makes a share of the clients leave before their answer has ended, as
// people do who close the tab. The zero value makes none.
type Leave struct {
	// Fraction is the share of requests, 0 to 1, that are chosen by their number.
	Fraction float64
	// AfterTokens, if above 0, is the number of tokens with which they leave.
	AfterTokens int
	// After, if above 0, is how long after sending they leave, at most.
	After time.Duration
	// Seed chooses the requests.
	Seed uint64
}

// Check returns an error that names every value that is not possible.
func (l Leave) Check() error {
	var errs []error
	if !(l.Fraction >= 0 && l.Fraction <= 1) {
		errs = append(errs, fmt.Errorf("a fraction of %v of the clients can't leave, must be 0 to 1", l.Fraction))
	}
	if l.AfterTokens < 0 {
		errs = append(errs, fmt.Errorf("clients can't leave after %d tokens, must be 1 or more", l.AfterTokens))
	}
	if l.After < 0 {
		errs = append(errs, fmt.Errorf("clients can't leave after %v, must be above 0", l.After))
	}
	return errors.Join(errs...)
}

// Chooses reports whether the client of a request is one that leaves.
func (l Leave) Chooses(id int64) bool {
	if l.Fraction <= 0 || l.AfterTokens == 0 && l.After == 0 {
		return false
	}
	// A request draws the same number whatever the fraction is, so that a larger
	// one adds clients and keeps the others.
	x := splitmix.Mix(l.Seed ^ 0x6c65617665 + uint64(id+1)*splitmix.Gamma)
	return float64(x>>11) < l.Fraction*math.Exp2(53)
}
