package sched

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// limit is a configured figure with the range it must be in, ends included.
type limit struct {
	name             string
	value, low, high float64
}

// checkLimits refuses the first figure that is outside its range or not a
// number. The error starts with where.
func checkLimits(where string, limits ...limit) error {
	for _, l := range limits {
		if !(l.value >= l.low && l.value <= l.high) {
			return fmt.Errorf("%s: %s is %s, must be %s to %s", where, l.name, plain(l.value), plain(l.low), plain(l.high))
		}
	}
	return nil
}

// plain writes a number without an exponent.
func plain(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// timing is a configured duration.
type timing struct {
	name  string
	value time.Duration
}

// maxTiming bounds every configured duration.
const maxTiming = time.Minute

// checkTimings refuses the first duration that is negative or absurd.
func checkTimings(where string, timings ...timing) error {
	for _, t := range timings {
		if t.value < 0 || t.value > maxTiming {
			return fmt.Errorf("%s: %s is %v, must be 0s to %v", where, t.name, t.value, maxTiming)
		}
	}
	return nil
}

// ceilBytes rounds a size up to whole bytes.
func ceilBytes(b float64) int64 { return int64(math.Ceil(b)) }
