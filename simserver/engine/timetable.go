package engine

import (
	"fmt"

	"llmsim-bench/internal/sleep"
	"llmsim-bench/simserver/plan"
)

// Timetable serves the requests whose plans bring their own timeline: a token is
// due at the request's arrival + its offset. Such a request takes no part in what
// any other engine does: it waits for nobody, and nobody waits for it. One
// Timetable stands before any number of engines.
type Timetable struct{ pacer *pacer }

// NewTimetable starts it; the sleeper is its own from now on. rest is how long it
// sleeps at least between two releases, in ns of its clock; 0: DefaultRest.
func NewTimetable(clock Clock, sleeper sleep.Sleeper, rest int64) *Timetable {
	if rest == 0 {
		rest = DefaultRest
	}
	return &Timetable{pacer: newPacer(clock, sleeper, rest)}
}

// Before returns an Engine that serves timed plans itself and leaves all others to
// e. Its Close closes e, and not the Timetable.
func (t *Timetable) Before(e Engine) Engine { return &timetabled{Engine: e, timetable: t} }

// Close stops the Timetable. Requests still running are let go of without a call
// of Done.
func (t *Timetable) Close() { t.pacer.close() }

// timetabled is an Engine behind a Timetable.
type timetabled struct {
	Engine
	timetable *Timetable
}

// Check implements Engine.
func (t *timetabled) Check(p *plan.Plan) error {
	if !p.Timed() {
		return t.Engine.Check(p)
	}
	for i := range p.Choices {
		c := &p.Choices[i]
		if len(c.Offsets) != len(c.Tokens) {
			return fmt.Errorf("choice %d has %d tokens and %d offsets, must have as many", i, len(c.Tokens), len(c.Offsets))
		}
		least := int64(0)
		for j, offset := range c.Offsets {
			if offset < least {
				return fmt.Errorf("choice %d: token %d is due %d ns after the arrival, must be %d or more", i, j, offset, least)
			}
			least = offset
		}
	}
	return nil
}

// Accept implements Engine: nobody waits for a timed plan's turn.
func (t *timetabled) Accept(r *Request) error {
	if !r.Plan.Timed() {
		return t.Engine.Accept(r)
	}
	r.entry.index = absent // it may be aborted before it is submitted
	return nil
}

// Submit implements Engine.
func (t *timetabled) Submit(r *Request) {
	if !r.Plan.Timed() {
		t.Engine.Submit(r)
		return
	}
	r.begin()
	run := &timetableRun{request: r}
	r.entry.task = run
	due, more := run.prepare()
	if !more {
		return
	}
	r.entry.due = due
	t.timetable.pacer.add(&r.entry)
}

// Abort implements Engine.
func (t *timetabled) Abort(r *Request) {
	if !r.Plan.Timed() {
		t.Engine.Abort(r)
		return
	}
	t.timetable.pacer.remove(&r.entry)
}

// timetableBatch is how many tokens a request releases at once. More that are due
// at the same moment follow after the pacer's rest, so that a long piece of a
// recording finds room in the connection's buffer.
const timetableBatch = 32

// timetableRun is a request's way through the pacer.
type timetableRun struct {
	request *Request
	failed  error
}

// fire implements task.
func (t *timetableRun) fire() { t.failed = t.request.release() }

// prepare implements task: it renders the tokens of all choices that are due next,
// or ends the request.
func (t *timetableRun) prepare() (due int64, more bool) {
	r := t.request
	if t.failed == nil {
		due = never
		for i := range r.Plan.Choices {
			if at, ok := r.nextOffset(i); ok {
				due, more = min(due, at), true
			}
		}
	}
	if !more {
		r.Outlet.Done(t.failed)
		return 0, false
	}
	room := timetableBatch
	for i := range r.Plan.Choices {
		for at, ok := r.nextOffset(i); ok && at == due && room > 0; at, ok = r.nextOffset(i) {
			r.prepare(i, r.Arrival+at)
			room--
		}
	}
	return r.Arrival + due, true
}

// nextOffset is the offset of the choice's next token; false: it has no more.
func (r *Request) nextOffset(choice int) (int64, bool) {
	offsets := r.Plan.Choices[choice].Offsets
	next := len(r.Timelines[choice].Due)
	if next >= len(offsets) {
		return 0, false
	}
	return offsets[next], true
}
