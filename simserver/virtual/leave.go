package virtual

import (
	"slices"
	"time"

	"llmsim-bench/simserver/engine"
	"llmsim-bench/simserver/sched"
)

// client is who waits for one request's answer.
type client struct {
	leaveAfter int // tokens; 0: it stays
	leaveDelay time.Duration
}

// gone reports whether the client has left a request that has these tokens.
func (c *client) gone(o *Outcome) bool { return c.leaveAfter > 0 && o.Tokens > c.leaveAfter }

// departure is when the server notices that a client has left.
type departure struct {
	at int64
	id sched.ID
}

// depart notes that the server will notice.
func (r *run) depart(id sched.ID, at int64) {
	i, _ := slices.BinarySearchFunc(r.leaving, at, func(d departure, at int64) int {
		if d.at <= at {
			return -1 // behind its equals
		}
		return 1
	})
	r.leaving = slices.Insert(r.leaving, i, departure{at, id})
}

// leave takes the first client out that is known to have left by the loop's next
// action, and reports whether there was one.
func (r *run) leave(next engine.Action, at int64) bool {
	if len(r.leaving) == 0 || next != engine.Idle && r.leaving[0].at > at {
		return false
	}
	id := r.leaving[0].id
	r.leaving = slices.Delete(r.leaving, 0, 1)
	r.abort(id) // unless the answer has ended by now
	return true
}

// abort takes a request out of the scheduler, if it is in it.
func (r *run) abort(id sched.ID) {
	if r.loop.Abort(id) {
		r.observer.Left(&r.alive[id.Slot()])
	}
}
