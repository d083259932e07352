package config

import (
	"math"
	"strconv"
	"time"

	"gopkg.in/yaml.v3"
)

// number returns the number under key, from low to high.
func (s *section) number(key string, low, high float64) float64 {
	n, _ := s.bounded(key, "a number", low, high)
	return n
}

// integer returns the whole number under key, from low to high.
func (s *section) integer(key string, low, high int) int {
	n, _ := s.whole(key, int64(low), int64(high))
	return int(n)
}

// whole reads a whole number, from low to high; not ok: reported. The bounds must
// be within 2⁵³, where float64 holds every integer.
func (s *section) whole(key string, low, high int64) (n int64, ok bool) {
	const want = "a whole number"
	f, ok := s.bounded(key, want, float64(low), float64(high))
	if ok && f != math.Trunc(f) {
		s.refuse(key, "%s is not possible, must be %s", s.values[key].Value, want)
		return 0, false
	}
	return int64(f), ok
}

// bounded reads a number from low to high; not ok: reported.
func (s *section) bounded(key, want string, low, high float64) (n float64, ok bool) {
	n, ok = s.finite(key, want+" from "+plain(low)+" to "+plain(high))
	switch {
	case !ok:
		return 0, false
	case n < low:
		s.refuse(key, "%s is not possible, must be %s or more", s.values[key].Value, plain(low))
		return 0, false
	case n > high:
		s.refuse(key, "%s is not possible, must be %s or less", s.values[key].Value, plain(high))
		return 0, false
	}
	return n, true
}

// finite reads a number of any size; not ok: reported, as not what is wanted.
func (s *section) finite(key, want string) (n float64, ok bool) {
	node := s.value(key, want)
	if node == nil {
		return 0, false
	}
	if tag := node.ShortTag(); node.Kind != yaml.ScalarNode || tag != "!!int" && tag != "!!float" || node.Decode(&n) != nil {
		s.refuse(key, "%s, must be %s", describe(node), want)
		return 0, false
	}
	if math.IsNaN(n) || math.IsInf(n, 0) {
		s.refuse(key, "%s is not possible, must be %s", node.Value, want)
		return 0, false
	}
	return n, true
}

// plain writes a bound without an exponent.
func plain(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// duration is so many units, rounded to whole nanoseconds.
func duration(n float64, unit time.Duration) time.Duration {
	return time.Duration(n*float64(unit) + 0.5)
}
