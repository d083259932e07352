package load

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"llmsim-bench/bench/record"
	"llmsim-bench/internal/sleep"
)

// abandonAfter is how long cancelled requests get to return. One that has not
// returned by then is reported as running.
const abandonAfter = 5 * time.Second

// Clock is the run's monotonic clock, in nanoseconds. Every instant of a record
// is a reading of it.
type Clock interface{ Now() int64 }

// Options are what a Dispatcher needs.
type Options struct {
	Source Source
	// Prepare makes what a job needs for sending, ahead of its due time. It may be nil.
	Prepare func(*Job)
	// Do performs one request: it fills the record's instants from Conn on and its
	// outcome, ok, failed or cancelled, and returns soon after ctx has ended. It
	// runs on a goroutine of its own.
	Do func(ctx context.Context, job *Job, rec *record.Request)
	// Point is noted in every record.
	Point int
	// OnRecord takes every record in the order in which the requests ended, from
	// one goroutine. It must not change the record. It may be nil.
	OnRecord func(*record.Request)
	// MaxInFlight is how many requests may be past Slot at once; 0 is no limit.
	// A request that waits for its slot was dispatched on time and its latency
	// counts from its due time all the same.
	MaxInFlight int
	// DrainTimeout is how long after the source's horizon requests may still run
	// before they are cancelled.
	DrainTimeout time.Duration
	Clock        Clock
	// OnStart is called with the instant from which due times count, before anything
	// is sent. What is due at once is prepared by then. It may be nil.
	OnStart func(start record.Instant)
	// Sleeper must go by Clock. The dispatcher is the only one to use it.
	Sleeper sleep.Sleeper
}

// Dispatcher sends every request of a source at its due time. Due times are
// absolute: however late one request is, the next is due when it was.
type Dispatcher struct {
	o      Options
	start  int64         // a reading of the clock
	slots  chan struct{} // nil: no limit
	ledger *ledger
	// waiting holds jobs that the source gave out and that others, due sooner, came
	// before: the one due first is at the end. It is the leader's.
	waiting []Job
}

// Result is what a run leaves behind beside its records.
type Result struct {
	// Start is the instant from which due times count.
	Start record.Instant
	// Phases holds the accounting by phase.
	Phases map[string]record.Accounting
}

// Total sums the accounting of all phases.
func (r Result) Total() record.Accounting {
	var sum record.Accounting
	for _, a := range r.Phases {
		sum.Add(a)
	}
	return sum
}

// New returns a Dispatcher for one run.
func New(o Options) (*Dispatcher, error) {
	var errs []error
	if o.Source == nil || o.Do == nil || o.Clock == nil || o.Sleeper == nil {
		errs = append(errs, errors.New("load: Source, Do, Clock and Sleeper must all be set"))
	}
	if o.MaxInFlight < 0 {
		errs = append(errs, fmt.Errorf("load: %d requests in flight at most are not possible: it must be 1 or more, or 0 for no limit", o.MaxInFlight))
	}
	if o.DrainTimeout < 0 {
		errs = append(errs, fmt.Errorf("load: a drain timeout of %v is not possible: it must be 0 or more", o.DrainTimeout))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	d := &Dispatcher{o: o, ledger: newLedger()}
	if o.MaxInFlight > 0 {
		d.slots = make(chan struct{}, o.MaxInFlight)
	}
	return d, nil
}

// Run sends the source's requests and returns when all have ended, or were
// cancelled: by ctx, or because they outlived the drain timeout. When ctx ends,
// requests that were due and not sent are dropped; those not yet due were never
// scheduled. OnRecord is called from Run's own goroutine. The error is that of
// Accounting.Check: it means a defect, in Do or here. Run is for one call.
func (d *Dispatcher) Run(ctx context.Context) (Result, error) {
	deliverTo := d.o.OnRecord
	if deliverTo == nil {
		deliverTo = func(*record.Request) {}
	}
	d.takeFirst(ctx)
	d.start = d.o.Clock.Now()
	if d.o.OnStart != nil {
		d.o.OnStart(record.Instant(d.start))
	}
	requests, cancel := context.WithCancel(ctx)
	stopWaking := context.AfterFunc(ctx, d.o.Sleeper.Wake)
	go d.lead(ctx, requests, func() {
		d.drain(ctx, cancel)
		stopWaking()
		d.ledger.close()
	})
	d.ledger.deliver(deliverTo)
	result := Result{Start: record.Instant(d.start), Phases: d.ledger.snapshot()}
	if err := result.Total().Check(); err != nil {
		return result, fmt.Errorf("load: the accounting does not add up: %w", err)
	}
	return result, nil
}

// Progress returns the accounting so far. It may be called at any time, from any
// goroutine.
func (d *Dispatcher) Progress() record.Accounting {
	return Result{Phases: d.ledger.snapshot()}.Total()
}

// Bounds of what is prepared before the start, in requests and in bytes.
const (
	maxFirst      = 1 << 16
	maxFirstBytes = 256 << 20
)

// takeFirst takes from the source what is due at the very start, so that a burst
// does not wait for its own preparation.
func (d *Dispatcher) takeFirst(ctx context.Context) {
	bytes := 0
	for len(d.waiting) < maxFirst && bytes < maxFirstBytes && ctx.Err() == nil {
		job, state := d.o.Source.Next()
		if state != Ready {
			break // it will be asked again
		}
		d.prepare(&job)
		bytes += len(job.Request)
		d.waiting = append(d.waiting, job)
		if job.Due > 0 {
			break
		}
	}
	slices.Reverse(d.waiting)
}

// lead sends requests at their due times. Of two goroutines one would have to
// wake up the other; so the one that waited for a request performs it as well,
// and a new one leads from there on, in the time until the next request is due.
// ended is called by the last.
func (d *Dispatcher) lead(ctx, requests context.Context, ended func()) {
	runtime.LockOSThread()
	sleep.Tighten()
	for {
		job, ok := d.next(ctx)
		if !ok {
			break
		}
		slept := d.await(ctx, &job)
		if ctx.Err() != nil {
			d.dropIfDue(&job)
			break
		}
		rec := d.schedule(&job)
		if slept {
			go d.lead(ctx, requests, ended)
			runtime.UnlockOSThread() // its timer slack is no harm to others
			d.perform(requests, &job, rec)
			return
		}
		go d.perform(requests, &job, rec)
	}
	if ctx.Err() != nil {
		d.dropAllDue()
	}
	ended()
}

// drain waits for the requests that run, and cancels those that take too long.
func (d *Dispatcher) drain(ctx context.Context, cancel func()) {
	// Where sending ended late, the requests sent last have the drain timeout too.
	limit := max(d.horizon(), d.o.Clock.Now()) + int64(d.o.DrainTimeout)
	for d.ledger.running() > 0 && ctx.Err() == nil && d.o.Clock.Now() < limit {
		d.o.Sleeper.Until(limit)
	}
	cancel()
	limit = d.o.Clock.Now() + int64(abandonAfter)
	for d.ledger.running() > 0 && d.o.Clock.Now() < limit {
		d.o.Sleeper.Until(limit)
	}
}

// next returns the job that is due first of those known so far, as soon as there
// is one. It is false when there are no more, or ctx has ended.
func (d *Dispatcher) next(ctx context.Context) (Job, bool) {
	for ctx.Err() == nil {
		d.hear()
		if n := len(d.waiting); n > 0 {
			job := d.waiting[n-1]
			d.waiting = d.waiting[:n-1]
			return d.soonest(job), true
		}
		job, state := d.o.Source.Next()
		switch state {
		case End:
			return Job{}, false
		case Wait:
			if d.o.Clock.Now() >= d.horizon() {
				return Job{}, false
			}
			d.o.Sleeper.Until(d.horizon())
		case Ready:
			d.prepare(&job)
			return job, true
		}
	}
	return Job{}, false
}

// soonest returns a job, or one that has become due before it meanwhile.
func (d *Dispatcher) soonest(job Job) Job {
	for {
		sooner, ok := d.o.Source.Before(job.Due)
		if !ok {
			return job
		}
		d.waiting = append(d.waiting, job)
		d.prepare(&sooner)
		job = sooner
	}
}

// await waits until a job is due, or one that becomes due sooner, which it then
// is. It reports whether it had to wait.
func (d *Dispatcher) await(ctx context.Context, job *Job) (slept bool) {
	for d.o.Clock.Now() < d.start+int64(job.Due) && ctx.Err() == nil {
		slept = true
		d.o.Sleeper.Until(d.start + int64(job.Due))
		d.hear()
		*job = d.soonest(*job)
	}
	return slept
}

func (d *Dispatcher) prepare(job *Job) {
	if d.o.Prepare != nil {
		d.o.Prepare(job)
	}
}

// hear tells the source about the requests that ended since the last call.
func (d *Dispatcher) hear() {
	for _, e := range d.ledger.takeEndings() {
		d.o.Source.Done(e.rec, e.at)
	}
}

// dropAllDue drops what is not sent yet, as far as it is due already.
func (d *Dispatcher) dropAllDue() {
	for _, job := range d.waiting {
		d.dropIfDue(&job)
	}
	for {
		job, state := d.o.Source.Next()
		if state != Ready || !d.dropIfDue(&job) {
			return
		}
	}
}

// dropIfDue books a job as dropped. One that is not due yet was never scheduled.
func (d *Dispatcher) dropIfDue(job *Job) bool {
	if d.start+int64(job.Due) > d.o.Clock.Now() {
		return false
	}
	d.drop(d.schedule(job))
	return true
}

// schedule books a job as due and begins its record.
func (d *Dispatcher) schedule(job *Job) *record.Request {
	rec := record.New()
	rec.ID, rec.Point, rec.Phase = job.ID, d.o.Point, job.Phase
	rec.PromptTokensAsked = job.PromptTokens
	rec.Sched = record.Instant(d.start + int64(job.Due))
	d.ledger.due(job.Phase)
	return rec
}

func (d *Dispatcher) drop(rec *record.Request) {
	rec.Outcome = record.Dropped
	d.end(rec, d.o.Clock.Now())
}

// end books the end of a request at a reading of the clock.
func (d *Dispatcher) end(rec *record.Request, at int64) {
	d.ledger.end(rec, time.Duration(at-d.start))
}

// perform is the body of a request's goroutine.
func (d *Dispatcher) perform(ctx context.Context, job *Job, rec *record.Request) {
	defer d.o.Sleeper.Wake() // the dispatcher hears of the end
	rec.Dispatch = record.Instant(d.o.Clock.Now())
	d.ledger.dispatched(rec.Phase)
	if !d.enter(ctx) {
		d.drop(rec)
		return
	}
	rec.Slot = record.Instant(d.o.Clock.Now())
	d.o.Do(ctx, job, rec)
	d.leave()
	if rec.End == record.Unset {
		d.end(rec, d.o.Clock.Now())
		return
	}
	d.end(rec, int64(rec.End))
}

// enter waits for a slot under the in-flight cap; it is false, with none taken,
// once ctx has ended. Waiting requests get theirs in the order in which they came.
func (d *Dispatcher) enter(ctx context.Context) bool {
	if d.slots != nil {
		select {
		case d.slots <- struct{}{}:
		case <-ctx.Done():
			return false
		}
	}
	if ctx.Err() != nil { // select chooses at random where both are ready
		d.leave()
		return false
	}
	return true
}

// leave gives the slot back.
func (d *Dispatcher) leave() {
	if d.slots != nil {
		<-d.slots
	}
}

// horizon is the reading of the clock from which on nothing is due.
func (d *Dispatcher) horizon() int64 { return d.start + int64(d.o.Source.Horizon()) }
