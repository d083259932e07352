package load

import (
	"fmt"
	"time"

	"llmsim-bench/bench/record"
)

// Closed is the source of a closed loop: a fixed number of users who each send
// their next request the moment their last one ended. A slow server is so
// offered less load; the latencies of a closed loop do not show queueing.
type Closed struct {
	window   Window
	workload Workload
	nextID   int64
	users    int
	due      []time.Duration // of requests not yet handed out, ascending
	retired  int             // users who send no more
}

// NewClosed returns a source of requests by so many users, whose first requests
// are all due at once. They are numbered from firstID on, which also chooses
// their prompts.
func NewClosed(users int, window Window, w Workload, firstID int64) (*Closed, error) {
	if users < 1 {
		return nil, fmt.Errorf("load: a closed loop of %d users is not possible: it must have 1 or more", users)
	}
	return &Closed{
		window: window, workload: w, nextID: firstID,
		users: users, due: make([]time.Duration, users),
	}, nil
}

// Next implements Source.
func (c *Closed) Next() (Job, State) {
	if c.retired == c.users {
		return Job{}, End
	}
	if len(c.due) == 0 {
		return Job{}, Wait
	}
	job := c.window.job(c.nextID, c.due[0], c.workload)
	c.nextID++
	c.due = c.due[1:]
	return job, Ready
}

// Done implements Source: the next request of that user is due at once, unless
// the window or the run is over.
func (c *Closed) Done(rec *record.Request, at time.Duration) {
	over := rec.Outcome == record.Cancelled || rec.Outcome == record.Dropped
	if over || at >= c.window.End() {
		c.retired++
		return
	}
	c.due = append(c.due, at)
}

// Horizon implements Source.
func (c *Closed) Horizon() time.Duration { return c.window.End() }
