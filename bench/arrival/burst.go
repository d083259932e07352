package arrival

import (
	"fmt"
	"time"
)

// MaxBurst is the largest burst accepted.
const MaxBurst = 1 << 20

func checkBurst(n int) error {
	if n < 1 || n > MaxBurst {
		return fmt.Errorf("arrival: a burst of %d requests is not possible: it must have 1 to %d", n, MaxBurst)
	}
	return nil
}

// burst is how many arrivals are left.
type burst int

// Burst returns n arrivals that are all due at 0.
func Burst(n int) (Schedule, error) {
	if err := checkBurst(n); err != nil {
		return nil, err
	}
	b := burst(n)
	return &b, nil
}

// Next implements Schedule.
func (b *burst) Next() (time.Duration, bool) {
	if *b == 0 {
		return 0, false
	}
	*b--
	return 0, true
}
