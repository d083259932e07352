package config

import (
	"time"

	"gopkg.in/yaml.v3"
)

// The getters here read what need not be there: nil, or an empty text, is a
// missing key, and also a value that was reported.

// optionalSection opens the section under key, which has the keys and no others.
func (s *section) optionalSection(key string, keys []string) *section {
	if !s.has(key) {
		return nil
	}
	sub := s.subsection(key, keys)
	if sub != nil {
		sub.allow("", keys)
	}
	return sub
}

func (s *section) optionalText(key, want string) string {
	if !s.has(key) {
		return ""
	}
	return s.text(key, want)
}

func (s *section) optionalBool(key string) *bool {
	node := s.values[key]
	if node == nil {
		return nil
	}
	var b bool
	if node.Kind != yaml.ScalarNode || node.ShortTag() != "!!bool" || node.Decode(&b) != nil {
		s.refuse(key, "%s, must be true or false", describe(node))
		return nil
	}
	return &b
}

// optionalNumber reads a number from low to high.
func (s *section) optionalNumber(key string, low, high float64) *float64 {
	if !s.has(key) {
		return nil
	}
	if n, ok := s.bounded(key, "a number", low, high); ok {
		return &n
	}
	return nil
}

// optionalFraction reads a number from 0 to less than 1.
func (s *section) optionalFraction(key string) *float64 {
	if !s.has(key) {
		return nil
	}
	const want = "a number from 0 to less than 1"
	n, ok := s.finite(key, want)
	if !ok {
		return nil
	}
	if n < 0 || n >= 1 {
		s.refuse(key, "%s is not possible, must be %s", s.values[key].Value, want)
		return nil
	}
	return &n
}

// optionalInteger reads a whole number from low to high.
func (s *section) optionalInteger(key string, low, high int) *int {
	n := s.optionalInt64(key, int64(low), int64(high))
	if n == nil {
		return nil
	}
	i := int(*n)
	return &i
}

// optionalInt64 reads a whole number from low to high.
func (s *section) optionalInt64(key string, low, high int64) *int64 {
	if !s.has(key) {
		return nil
	}
	if n, ok := s.whole(key, low, high); ok {
		return &n
	}
	return nil
}

// maxOptionalDuration bounds every optional duration.
const maxOptionalDuration = time.Minute

// optionalDuration reads so many units, from 0 to a minute.
func (s *section) optionalDuration(key string, unit time.Duration) *time.Duration {
	n := s.optionalNumber(key, 0, float64(maxOptionalDuration/unit))
	if n == nil {
		return nil
	}
	d := duration(*n, unit)
	return &d
}
