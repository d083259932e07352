package load

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"llmsim-bench/bench/record"
)

// After a failed request its user waits so long, twice as long after the next
// failure and so on, at most the longest pause, until a request succeeds. A
// server that refuses at once would otherwise be sent as many requests as the
// client can make.
const (
	failurePause        = 100 * time.Millisecond
	longestFailurePause = time.Second
)

// Closed is the source of a closed loop: a fixed number of users who each send
// their next request when their last one ended and they have thought about it, or
// after a pause if it failed. A slow server is so offered less load; the latencies of a closed loop
// do not show queueing.
type Closed struct {
	window   Window
	workload Workload
	nextID   int64
	users    int
	think    time.Duration
	waiting  []turn                  // of requests not yet handed out, by due time
	pauses   map[int64]time.Duration // by the request under way: its user's last pause, where one fails
	retired  int                     // users who send no more
}

// turn is when a user's next request is due.
type turn struct {
	due   time.Duration
	pause time.Duration // before it; 0 unless the last request failed
}

// NewClosed returns a source of requests by so many users, whose first requests
// are all due at once, and who think for so long before each other. They are numbered from firstID on, which also chooses
// their prompts.
func NewClosed(users int, think time.Duration, window Window, w Workload, firstID int64) (*Closed, error) {
	if users < 1 {
		return nil, fmt.Errorf("load: a closed loop of %d users is not possible: it must have 1 or more", users)
	}
	if think < 0 {
		return nil, fmt.Errorf("load: a think time of %v is not possible: it must be 0 or more", think)
	}
	return &Closed{
		think:  think,
		window: window, workload: w, nextID: firstID,
		users: users, waiting: make([]turn, users), pauses: make(map[int64]time.Duration),
	}, nil
}

// Next implements Source.
func (c *Closed) Next() (Job, State) {
	switch {
	case c.retired == c.users:
		return Job{}, End
	case len(c.waiting) == 0:
		return Job{}, Wait
	}
	return c.take(), Ready
}

// Before implements Source: a user who goes on at once comes before one who
// pauses.
func (c *Closed) Before(due time.Duration) (Job, bool) {
	if len(c.waiting) == 0 || c.waiting[0].due >= due {
		return Job{}, false
	}
	return c.take(), true
}

// take makes the request that is due first.
func (c *Closed) take() Job {
	first := c.waiting[0]
	c.waiting = c.waiting[1:]
	job := c.window.job(c.nextID, first.due, c.workload)
	if first.pause > 0 {
		c.pauses[job.ID] = first.pause
	}
	c.nextID++
	return job
}

// Done implements Source: the next request of that user is due after thinking, or
// after a pause if that is longer, unless the window or the run is over by then.
func (c *Closed) Done(rec *record.Request, at time.Duration) {
	next := turn{due: at + c.think}
	if rec.Outcome == record.Failed {
		next.pause = min(max(2*c.pauses[rec.ID], failurePause), longestFailurePause)
		next.due = at + max(c.think, next.pause)
	}
	delete(c.pauses, rec.ID)
	over := rec.Outcome == record.Cancelled && rec.Kind == "" || rec.Outcome == record.Dropped
	if over || next.due >= c.window.End() {
		c.retired++
		return
	}
	i, _ := slices.BinarySearchFunc(c.waiting, next, func(a, b turn) int {
		if a.due == b.due {
			return -1 // behind its equals
		}
		return cmp.Compare(a.due, b.due)
	})
	c.waiting = slices.Insert(c.waiting, i, next)
}

// Horizon implements Source.
func (c *Closed) Horizon() time.Duration { return c.window.End() }
