// Package arrival says when requests are due. A seed and the numbers of a
// process go in; due times, absolute and ascending, come out. It knows nothing
// of what is asked, and no clock: a schedule is the same whatever happens to
// the requests.
package arrival

import "time"

// A Schedule hands out due times one after the other.
type Schedule interface {
	// Next returns the next due time, counted from the start of the run and
	// never before the one returned last. It is false after the last one.
	Next() (due time.Duration, ok bool)
}
