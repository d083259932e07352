//go:build !linux

package sleep

// New returns the most precise Sleeper of this platform: the portable one.
func New(clock Clock) Sleeper { return NewPortable(clock) }

// Tighten has nothing to do on this platform.
func Tighten() {}
