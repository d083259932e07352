package selftest

import (
	"context"
	"fmt"
	"math"
	"time"

	"llmsim-bench/bench/health"
	"llmsim-bench/bench/load"
	"llmsim-bench/internal/sleep"
)

// Options are what a self-test needs.
type Options struct {
	// URL is that of a null server of another process, without a path.
	URL  string
	Key  Key
	Plan Plan
	// Progress, where given, is told what comes next.
	Progress func(what string)
}

// Run finds out what this process can sustain. An error is that of ctx, or means
// that the server or this program is broken.
func Run(ctx context.Context, o Options) (Result, error) {
	t := &test{o: o, ctx: ctx, client: client{server: o.URL, clock: sleep.NewClock(), seed: o.Plan.Seed}}
	t.result = Result{
		Schema: Schema, Key: o.Key, Measured: time.Now(), Quick: o.Plan.Quick,
		Limits: health.ReadLimits(), PromptTokens: promptTokens,
	}
	for _, part := range []func() error{t.quiet, t.requests, t.events, t.streams, t.dispatch} {
		if err := part(); err != nil {
			return Result{}, fmt.Errorf("self-test: %w", err)
		}
	}
	t.costs()
	return t.result, nil
}

// test is one call of Run.
type test struct {
	o      Options
	ctx    context.Context
	client client
	result Result
}

func (t *test) say(format string, args ...any) {
	if t.o.Progress != nil {
		t.o.Progress(fmt.Sprintf(format, args...))
	}
}

func (t *test) note(format string, args ...any) {
	t.result.Notes = append(t.result.Notes, fmt.Sprintf(format, args...))
}

// climb climbs a stage's ladder with a load of each level.
func (t *test) climb(s Stage, unit string, shapeOf func(level float64) shape) (Part, error) {
	end := t.client.clock.Now() + int64(s.Budget)
	more := func() bool { return t.client.clock.Now() < end && t.ctx.Err() == nil }
	steps, err := s.Ladder.Climb(more, func(level float64) (Step, error) {
		t.say("%.0f %s", level, unit)
		step, err := t.client.run(t.ctx, shapeOf(level), nil)
		step.Level = level
		return step, err
	})
	if err == nil {
		err = t.ctx.Err()
	}
	return newPart(steps), err
}

// quietShare is the share of the host's CPU that others may use before it is
// worth a note.
const quietShare = 0.10

// quiet looks at what others do on this machine.
func (t *test) quiet() error {
	if t.o.Plan.Quiet <= 0 {
		return nil
	}
	t.say("the machine without load")
	seen := t.client.watch(t.ctx, load.Window{Measure: t.o.Plan.Quiet}, "")()
	if host := seen.report.HostCPU; host != nil {
		t.result.OthersCPU = *host
	}
	if host := t.result.OthersCPU; host > quietShare {
		t.note("Other processes used %.0f %% of this machine's CPU before the test began, more than %.0f %%: an idle machine sustains more.", host*100, quietShare*100)
	}
	return t.ctx.Err()
}

// requests: each is answered at once with one token.
func (t *test) requests() (err error) {
	s := t.o.Plan.Requests
	t.result.Requests, err = t.climb(s, "requests/s", func(level float64) shape { return requestShape(level, s) })
	return err
}

func requestShape(rate float64, s Stage) shape {
	return shape{rate: rate, events: 1, window: load.Window{Warmup: s.Warmup, Measure: s.Window}, drain: s.Window}
}

// events: streams come and go at random, so that their paces do not beat.
func (t *test) events() (err error) {
	s := t.o.Plan.Events
	t.result.Events, err = t.climb(s, "events/s", func(level float64) shape {
		return shape{
			rate: level / streamEvents, events: streamEvents, pace: eventPace,
			window: load.Window{Warmup: s.Warmup, Measure: s.Window},
		}
	})
	return err
}

// streams: they are opened one after the other and stay.
func (t *test) streams() (err error) {
	s := t.o.Plan.Streams
	if most := float64(t.result.Limits.MaxConnections(math.MaxInt32)); s.Ladder.Max > most {
		for _, check := range t.result.Limits.Plan(int64(s.Ladder.Max)) {
			if !check.Sufficient {
				t.note("%s", check.Sentence)
			}
		}
		s.Ladder.Max = max(most, 1)
		s.Ladder.Start = min(s.Ladder.Start, s.Ladder.Max)
	}
	// Opening a stream costs more than a request on a connection that is there.
	rate := min(max(t.result.Requests.Sustained/4, slowestOpensPerS), opensPerS)
	t.result.Streams, err = t.climb(s, "streams", func(level float64) shape {
		opened := time.Duration(level / rate * float64(time.Second))
		window := load.Window{Warmup: opened + s.Warmup, Measure: s.Window}
		pace := min(slowPace, s.Window) // each stream has an event in the window
		return shape{
			rate: rate, opened: opened, events: int(window.End()/pace) + 2, pace: pace, window: window,
		}
	})
	return err
}

// costs sums up what the steps tell.
func (t *test) costs() {
	r := &t.result
	if best, ok := highest(r.Events.Steps); ok && best.Cores > 0 {
		r.EventsPerSPerCore = best.EventsPerS / best.Cores
	}
	if c, ok := fitCosts(append(cheap(r.Requests.Steps), cheap(r.Events.Steps)...)); ok {
		r.CPUPerRequestUS, r.CPUPerEventUS = c.request*1e6, c.event*1e6
		return
	}
	t.note("There were too few steps well below the limits to tell what a request and an event cost.")
}
