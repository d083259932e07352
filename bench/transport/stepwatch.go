package transport

import "math"

const (
	// maxSlew is the reciprocal of the rate, 500 ppm, at which a clock that is
	// being adjusted, not set, may run away from another.
	maxSlew = 2000
	// stepGrace is what two readings may differ by beyond that, in nanoseconds.
	stepGrace = 20_000
	// tightReading is how many nanoseconds a reading may take without being tried
	// again, up to maxReadings times in all.
	tightReading = 5_000
	maxReadings  = 4
)

// reading is one look at two clocks, in nanoseconds: real is the time of day, at
// some moment of the monotonic clock between before and after.
type reading struct{ before, real, after int64 }

// readClocks takes the tightest of a few readings, the first of which begins at
// the moment before, just read from the monotonic clock.
func readClocks(monotonic, wall func() int64, before int64) reading {
	var best reading
	for i := range maxReadings {
		r := reading{before: before, real: wall(), after: monotonic()}
		if i == 0 || r.after-r.before < best.after-best.before {
			best = r
		}
		if best.after-best.before <= tightReading {
			break
		}
		before = r.after
	}
	return best
}

// stepWatch notices when somebody sets the time of day: its distance from the
// monotonic clock is not what it was. A step is seen if it is longer than
// stepGrace and 500 ppm of the time since the last reading.
type stepWatch struct {
	steps int64 // steps seen
	seen  bool  // there was a reading
	// least and most bound the distance, real − monotonic, at the moment at.
	least, most int64
	at          int64
	// steppedBy is when the last step had happened.
	steppedBy int64
}

// trusts takes a reading and reports whether it tells what a stamp of the time
// of day meant: whether no step can lie between it and a stamp taken after
// notBefore. Readings may come out of order.
func (w *stepWatch) trusts(r reading, notBefore int64) bool {
	least, most := r.real-r.after, r.real-r.before
	elapsed := r.after - w.at
	switch {
	case !w.seen:
		w.seen, w.steppedBy = true, math.MinInt64
	case elapsed < 0: // a later reading came first, and saw what there was to see
		return notBefore >= w.steppedBy
	default:
		slew := elapsed / maxSlew
		if least > w.most+slew+stepGrace || most < w.least-slew-stepGrace {
			w.steps++
			w.steppedBy = r.after
			break
		}
		// A loose reading must not hide the next step.
		if l, m := max(least, w.least-slew), min(most, w.most+slew); l <= m {
			least, most = l, m
		}
	}
	w.least, w.most, w.at = least, most, r.after
	return notBefore >= w.steppedBy
}
