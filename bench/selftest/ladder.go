package selftest

import "math"

// Ladder says at which levels of load a client is tried.
type Ladder struct {
	// Start is the first level. While levels are sustained, each next one is
	// Factor times the last, and Max is the last of all. Where not even the first
	// is, each next one is Factor times lower, at most lowerTries times.
	Start, Factor, Max float64
	// Refine is how often the gap between the highest level sustained and the
	// lowest not sustained is halved, as a ratio.
	Refine int
	// Tries is how often a level may be tried until it counts as not sustained: a
	// machine has bad moments that are not the client's.
	Tries int
}

// lowerTries is how often a ladder goes down from its start.
const lowerTries = 4

// Climb measures levels until it knows the highest one sustained, and returns
// every measurement in the order in which they were made. It stops early, with
// what it has, once more is false, and at an error, which it returns.
func (l Ladder) Climb(more func() bool, measure func(level float64) (Step, error)) (steps []Step, err error) {
	try := func(level float64) bool {
		for range max(l.Tries, 1) {
			if len(steps) > 0 && !more() {
				return false
			}
			var step Step
			if step, err = measure(level); err != nil {
				return false
			}
			steps = append(steps, step)
			if step.Sustained {
				return true
			}
		}
		return false
	}
	going := func() bool { return err == nil && more() }

	low, high := 0.0, l.Start
	for try(high) && going() {
		if low = high; low >= l.Max {
			return steps, err
		}
		high = math.Min(low*l.Factor, l.Max)
	}
	for range lowerTries {
		if low > 0 || !going() {
			break
		}
		if lower := high / l.Factor; try(lower) {
			low = lower
		} else {
			high = lower
		}
	}
	for range l.Refine {
		if low == 0 || !going() {
			break
		}
		if middle := math.Sqrt(low * high); try(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return steps, err
}

// highest returns the sustained step of the highest level.
func highest(steps []Step) (best Step, ok bool) {
	for _, s := range steps {
		if s.Sustained && (!ok || s.Level > best.Level) {
			best, ok = s, true
		}
	}
	return best, ok
}
