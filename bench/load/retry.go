package load

import (
	"context"
	"time"

	"llmsim-bench/bench/record"
)

// Waits before an attempt where the server does not name one: the first, which
// doubles with every attempt, and the longest.
const (
	firstRetryWait   = 500 * time.Millisecond
	longestRetryWait = 8 * time.Second
)

// retryWait returns how long to wait before another attempt at a request that
// failed so many times before, and whether there is one. Only what came to no
// token and may go well next time is tried again.
func (s *Sender) retryWait(rec *record.Request) (time.Duration, bool) {
	attempts := len(rec.Retried)
	if rec.Outcome != record.Failed || attempts >= s.Retries {
		return 0, false
	}
	switch rec.Kind {
	case record.KindRateLimited, record.KindHTTP5xx, record.KindConnect:
	default:
		return 0, false
	}
	if rec.RetryAfter != nil {
		return time.Duration(*rec.RetryAfter * float64(time.Second)), true
	}
	return min(firstRetryWait<<min(attempts, 16), longestRetryWait), true
}

// pause waits, unless ctx ends first: then it is false.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
