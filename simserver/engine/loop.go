package engine

import (
	"fmt"

	"llmsim-bench/simserver/sched"
)

// Loop is an inference engine's loop on the simulated timeline: it knows when
// each Schedule call stands and when each step ends, and nothing of any clock.
// The same Loop runs live and in virtual time. Its driver asks Next what comes,
// sees to it that every request with an arrival at or before a Schedule call has
// been added, and carries the action out.
//
// Synchronously, a step is scheduled when the one before has ended. With
// asynchronous scheduling the next step is put together when the present one
// starts, so a Schedule call stands one step before the step that it fills.
type Loop struct {
	sched *sched.Scheduler
	cost  *sched.CostModel

	// at is when the next Schedule call stands: when the last step to be
	// completed ended, or when work came to an idle engine.
	at int64
	// waiting says that the engine waits for its oldest step before it schedules again.
	waiting bool
	flight  [2]StepTime // of the steps in flight, oldest first
	flying  int
	busy    int64 // when the last step scheduled ends
}

// StepTime places a step on the timeline.
type StepTime struct {
	// Scheduled is where the Schedule call stands. Start and End are those of the
	// step itself: it starts when the step before it has ended.
	Scheduled, Start, End int64
	Cost                  sched.StepCost
}

// Action is what a Loop does next.
type Action uint8

const (
	// Idle: nothing until a request is added.
	Idle Action = iota
	// Schedule: a step is put together.
	Schedule
	// Complete: the oldest step has ended and its tokens are out.
	Complete
)

// NewLoop returns a loop with nothing to do. The scheduler is its own from now on.
func NewLoop(s *sched.Scheduler, cost *sched.CostModel) *Loop { return &Loop{sched: s, cost: cost} }

// Scheduler gives access to what can be observed.
func (l *Loop) Scheduler() *sched.Scheduler { return l.sched }

// Next says what the loop does next and where on the timeline it stands.
func (l *Loop) Next() (Action, int64) {
	switch {
	case !l.waiting && l.sched.HasWork():
		return Schedule, l.at
	case l.flying > 0:
		return Complete, l.flight[0].End
	}
	return Idle, l.at
}

// OldestEnd is when the oldest step in flight ends.
func (l *Loop) OldestEnd() int64 { return l.flight[0].End }

// Add queues a request that arrived at a moment of the timeline. It has to be
// called in the order of arrival, and before any Schedule call that stands later.
func (l *Loop) Add(r sched.Request, arrival int64) (sched.ID, error) {
	idle, _ := l.Next()
	id, err := l.sched.Add(r)
	if err == nil && idle == Idle {
		l.at = max(l.at, arrival)
	}
	return id, err
}

// Abort ends a request where the loop stands. It reports false if it had ended.
func (l *Loop) Abort(id sched.ID) bool { return l.sched.Abort(id) }

// Schedule puts the next step together. It panics where Next does not say so, and
// where the scheduler could never go on.
func (l *Loop) Schedule() (*sched.Step, StepTime) {
	step := l.sched.Schedule()
	t := StepTime{Scheduled: l.at, Start: max(l.at, l.busy), Cost: l.cost.Cost(step)}
	t.End = t.Start + int64(t.Cost.Duration)
	if len(step.Seqs) == 0 && l.flying == 0 && len(step.Preempted) == 0 && l.sched.NumRunning()+l.sched.NumWaiting() > 0 {
		panic(fmt.Sprintf("engine: %d requests wait and %d run, but the scheduler finds nothing to do",
			l.sched.NumWaiting(), l.sched.NumRunning()))
	}
	l.busy = t.End
	l.flight[l.flying] = t
	l.flying++
	l.waiting = !l.sched.Ahead()
	return step, t
}

// Complete ends the oldest step. The outputs hold until the next call.
func (l *Loop) Complete() ([]sched.Output, StepTime) {
	t := l.flight[0]
	l.flight[0] = l.flight[1]
	l.flying--
	l.at, l.waiting = t.End, false
	return l.sched.Complete(), t
}
