package load

import (
	"time"

	"llmsim-bench/bench/arrival"
	"llmsim-bench/bench/record"
)

// Open is the source of an open loop: requests are due when the schedule says,
// whether or not earlier ones have ended.
type Open struct {
	schedule arrival.Schedule
	window   Window
	workload Workload
	nextID   int64
}

// NewOpen returns a source of the requests that schedule makes due in window.
// They are numbered from firstID on, which also chooses their prompts.
func NewOpen(schedule arrival.Schedule, window Window, w Workload, firstID int64) *Open {
	return &Open{schedule: schedule, window: window, workload: w, nextID: firstID}
}

// Next implements Source.
func (o *Open) Next() (Job, State) {
	due, ok := o.schedule.Next()
	if !ok || due >= o.window.End() {
		return Job{}, End
	}
	job := o.window.job(o.nextID, due, o.workload)
	o.nextID++
	return job, Ready
}

// Before implements Source; the schedule is in order.
func (o *Open) Before(time.Duration) (Job, bool) { return Job{}, false }

// Done implements Source; an open loop does not listen.
func (o *Open) Done(*record.Request, time.Duration) {}

// Horizon implements Source.
func (o *Open) Horizon() time.Duration { return o.window.End() }
