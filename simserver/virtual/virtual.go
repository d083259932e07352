// Package virtual runs the scheduler's engine loop in virtual time: requests and
// their arrivals go in, and what an inference engine would do with them comes
// out at once, the same on every run. It knows no clock, no HTTP and no content.
//
// All moments are int64 nanoseconds of one timeline.
package virtual

import (
	"fmt"
	"time"

	"llmsim-bench/simserver/engine"
	"llmsim-bench/simserver/sched"
)

// Request is one request of a Source.
type Request struct {
	ID      int64
	Arrival int64
	// Measured says that the request counts in what is summed up.
	Measured bool
	// LeaveAfter, if above 0, is the number of tokens with which the client leaves,
	// unless the answer has ended by then. The server notices LeaveDelay later and
	// takes the request out.
	LeaveAfter int
	LeaveDelay time.Duration
	sched.Request
}

// A Source says which requests come. Run calls it from one goroutine.
type Source interface {
	// Peek returns the arrival of the next request; false when there is none, or
	// none until another has ended.
	Peek() (arrival int64, ok bool)
	// Pop returns that request. Its slices hold until the next call, as
	// sched.Request asks.
	Pop() Request
	// Done tells that a request has ended for its client, with a token at this
	// moment: it was the last one, or the client left.
	Done(id, at int64)
}

// Outcome is what became of one request.
type Outcome struct {
	ID       int64
	Measured bool
	// Arrival at the server, hand-over to the scheduler, first admission to a
	// step, first and last token.
	Arrival, Queued, Admitted, First, Last int64
	Tokens                                 int
	Cached                                 int // prompt tokens from the prefix cache, at first admission
	Preemptions                            int
	Finish                                 sched.FinishReason
}

// An Observer watches a run. What it is given holds until it returns.
type Observer interface {
	// Added is called when a request has reached the scheduler.
	Added(id sched.ID, o *Outcome)
	// Step is called after each step was put together.
	Step(step *sched.Step, t engine.StepTime, s *sched.Scheduler)
	// Admitted is called at a request's first admission, which o.Admitted is.
	Admitted(o *Outcome)
	// Token is called for each token, which o.Last and o.Tokens count already, with
	// the time since the request's token before; 0 for the first.
	Token(o *Outcome, gap int64)
	// Ended is called when a request has its last token.
	Ended(o *Outcome)
	// Left is called instead when a request was taken out before that, with the
	// tokens that it had by then.
	Left(o *Outcome)
}

// Run puts the source's requests through a loop until there are no more. Each
// reaches the scheduler frontEnd after its arrival. The error is that of a
// request that the scheduler could never serve.
func Run(loop *engine.Loop, frontEnd time.Duration, source Source, o Observer) error {
	r := run{loop: loop, source: source, observer: o}
	for {
		action, at := loop.Next()
		if r.leave(action, at) {
			continue
		}
		arrival, more := source.Peek()
		if more && (action == engine.Idle || arrival+int64(frontEnd) <= at) {
			if err := r.add(arrival + int64(frontEnd)); err != nil {
				return err
			}
			continue
		}
		switch action {
		case engine.Schedule:
			r.schedule()
		case engine.Complete:
			r.complete()
		case engine.Idle:
			return nil
		}
	}
}

// An Event is something that reached a loop from outside, in its effective place.
type Event struct {
	// Turn is how many actions the loop had carried out before it.
	Turn int64
	// Aborted takes the sequence ID out; else Request is added.
	Aborted bool
	ID      int64 // of the sequence
	Request Request
}

// Replay tells a loop the events of another run in the same places, and so
// repeats that run's timeline to the nanosecond. Each Request is one sequence,
// known by its ID. The error says where the events don't fit the loop.
func Replay(loop *engine.Loop, frontEnd time.Duration, events []Event, o Observer) error {
	r := run{loop: loop, source: replayed{}, observer: o, ids: make(map[int64]sched.ID)}
	for turn := int64(0); ; turn++ {
		for len(events) > 0 && events[0].Turn == turn {
			e := &events[0]
			if !e.Aborted {
				if err := r.addRequest(e.Request, e.Request.Arrival+int64(frontEnd)); err != nil {
					return err
				}
			} else if id, alive := r.ids[e.ID]; alive {
				r.abort(id)
			}
			events = events[1:]
		}
		switch action, _ := loop.Next(); action {
		case engine.Schedule:
			r.schedule()
		case engine.Complete:
			r.complete()
		case engine.Idle:
			if len(events) > 0 {
				return fmt.Errorf("the engine is idle after %d actions, but the next event comes after %d: this is another model's log, or it is cut", turn, events[0].Turn)
			}
			return nil
		}
	}
}

// replayed is the source of a replay, whose requests come as events.
type replayed struct{}

func (replayed) Peek() (int64, bool) { return 0, false }
func (replayed) Pop() Request        { return Request{} }
func (replayed) Done(int64, int64)   {}

type run struct {
	loop     *engine.Loop
	source   Source
	observer Observer
	alive    []Outcome          // by slot of the request's ID
	clients  []client           // the same
	leaving  []departure        // by time
	ids      map[int64]sched.ID // of a replay's sequences
}

func (r *run) add(at int64) error { return r.addRequest(r.source.Pop(), at) }

func (r *run) addRequest(q Request, at int64) error {
	id, err := r.loop.Add(q.Request, at)
	if err != nil {
		return fmt.Errorf("request %d: %w", q.ID, err)
	}
	if r.ids != nil {
		r.ids[q.ID] = id
	}
	for id.Slot() >= len(r.alive) {
		r.alive = append(r.alive, Outcome{})
		r.clients = append(r.clients, client{})
	}
	r.clients[id.Slot()] = client{q.LeaveAfter, q.LeaveDelay}
	r.alive[id.Slot()] = Outcome{ID: q.ID, Measured: q.Measured, Arrival: q.Arrival, Queued: at}
	r.observer.Added(id, &r.alive[id.Slot()])
	return nil
}

func (r *run) schedule() {
	step, t := r.loop.Schedule()
	for _, a := range step.Admitted {
		if o := &r.alive[a.ID.Slot()]; !a.Resumed {
			o.Admitted, o.Cached = t.Scheduled, int(a.Cached)
			r.observer.Admitted(o)
		}
	}
	for _, id := range step.Preempted {
		r.alive[id.Slot()].Preemptions++
	}
	r.observer.Step(step, t, r.loop.Scheduler())
}

func (r *run) complete() {
	outputs, t := r.loop.Complete()
	for _, out := range outputs {
		o := &r.alive[out.ID.Slot()]
		if o.Tokens == 0 {
			o.First, o.Last = t.End, t.End
		}
		gap := t.End - o.Last
		o.Tokens++
		o.Last = t.End
		r.observer.Token(o, gap)
		switch c := &r.clients[out.ID.Slot()]; {
		case out.Finish != sched.Unfinished:
			o.Finish = out.Finish
			r.observer.Ended(o)
			if !c.gone(o) {
				r.source.Done(o.ID, t.End)
			}
		case c.leaveAfter > 0 && o.Tokens == c.leaveAfter:
			r.depart(out.ID, t.End+int64(c.leaveDelay))
			r.source.Done(o.ID, t.End)
		}
	}
}
