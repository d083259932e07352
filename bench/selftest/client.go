package selftest

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"llmsim-bench/bench/arrival"
	"llmsim-bench/bench/health"
	"llmsim-bench/bench/load"
	"llmsim-bench/bench/openai"
	"llmsim-bench/bench/record"
	"llmsim-bench/bench/transport"
	"llmsim-bench/bench/workload"
	"llmsim-bench/internal/sleep"
)

// carried is the share of the load that must have been carried, in events: what
// is missing at the end of a window may still be on its way.
const carried = 0.97

// connectTimeout bounds opening a connection.
const connectTimeout = 10 * time.Second

// shape is the load of one step.
type shape struct {
	rate float64 // requests/s
	// opened is when the last request is due, of requests at equal distances. 0:
	// requests are due all the time, at random.
	opened time.Duration
	events int           // of each answer
	pace   time.Duration // of events; 0: all at once
	window load.Window
	drain  time.Duration // of what runs at the window's end; then it is cut
}

func (s *shape) schedule(seed uint64) (arrival.Schedule, error) {
	if s.opened > 0 {
		return arrival.Constant(s.rate, s.opened)
	}
	return arrival.Poisson(s.rate, s.window.End(), seed)
}

// client puts load on a null server, as it would on any.
type client struct {
	server string // its URL, without a path
	clock  sleep.Clock
	seed   uint64
}

// run puts one load on the server and tells what came of it. observe, where
// given, sees every record.
func (c *client) run(ctx context.Context, s shape, observe func(*record.Request)) (Step, error) {
	target, err := transport.ParseTarget(pacedURL(c.server, s.pace))
	if err != nil {
		return Step{}, err
	}
	requests, err := workload.NewSynthetic(c.seed, workload.Uncalibrated(), workload.Exactly(promptTokens, s.events))
	if err != nil {
		return Step{}, err
	}
	schedule, err := s.schedule(c.seed)
	if err != nil {
		return Step{}, err
	}
	pool := transport.New(transport.Config{Target: target, Now: c.clock.Now, ConnectTimeout: connectTimeout})
	defer pool.Close()
	sender := &load.Sender{Pool: pool, Clock: c.clock, API: openai.Chat, Model: "null"}
	var records []*record.Request
	dispatcher, err := load.New(load.Options{
		Source: load.NewOpen(schedule, s.window, requests, 0), Prepare: sender.Prepare, Do: sender.Send,
		OnRecord: func(rec *record.Request) {
			records = append(records, rec)
			if observe != nil {
				observe(rec)
			}
		},
		DrainTimeout: s.drain, Clock: c.clock, Sleeper: sleep.New(c.clock),
	})
	if err != nil {
		return Step{}, err
	}

	runtime.GC() // the garbage of the step before is not this one's
	watched := c.watch(ctx, s.window, target.Address)
	result, err := dispatcher.Run(ctx)
	seen := watched()
	switch {
	case err != nil:
		return Step{}, err
	case ctx.Err() != nil:
		return Step{}, ctx.Err()
	}
	from := int64(result.Start) + int64(s.window.Warmup)
	to := int64(result.Start) + int64(s.window.End())
	counts := result.Phases[record.PhaseMeasure]
	if s.opened > 0 {
		counts = result.Total() // all were due in the warm-up
	}
	tally := count(records, &s, from, to)
	return tally.step(seen, health.Counts{Due: counts.Scheduled, Dispatched: counts.Dispatched}), nil
}

// observed is what the client saw of itself during a window.
type observed struct {
	report health.Report
	cores  float64 // CPU seconds a second
}

// watch watches this process during the measured window of a load that starts
// now. What it returns waits for the end of that, or of ctx.
func (c *client) watch(ctx context.Context, window load.Window, target string) func() observed {
	monitor := health.NewMonitor(c.clock)
	monitor.WatchTarget(target)
	var o observed
	var used time.Duration
	var since int64
	ended := make(chan struct{})
	stop := monitor.WatchWindow(ctx, window.Warmup, window.Measure, func(begins bool) {
		now, ok := health.ProcessCPU()
		if begins {
			used, since = now, c.clock.Now()
			return
		}
		if ok {
			o.cores = float64(now-used) / float64(c.clock.Now()-since)
		}
		close(ended)
	})
	return func() observed {
		<-ended
		o.report = stop()
		return o
	}
}

// tally counts what a window held.
type tally struct {
	seconds   float64
	due, came int64 // events
	sent      int64 // requests
	open      int   // streams, at the end
	failed    int64
	failure   string // one of them
}

// count counts the events that were due and those that came in [from, to), as
// readings of the clock.
func count(records []*record.Request, s *shape, from, to int64) tally {
	t := tally{seconds: float64(to-from) / float64(time.Second)}
	inside := func(at int64) bool { return from <= at && at < to }
	for _, rec := range records {
		for i := range int64(s.events) {
			at := int64(rec.Sched) + i*int64(s.pace)
			if at >= to {
				break
			}
			if inside(at) {
				t.due++
			}
		}
		for _, ev := range rec.Events {
			if inside(int64(ev.At)) {
				t.came++
			}
		}
		if inside(int64(rec.Sent)) {
			t.sent++
		}
		if rec.First != record.Unset && int64(rec.First) < to && int64(rec.End) >= to {
			t.open++
		}
		if rec.Outcome == record.Failed {
			t.failed++
			t.failure = rec.Kind + ": " + rec.Error
		}
	}
	return t
}

// step judges a window.
func (t *tally) step(seen observed, counts health.Counts) Step {
	verdict := health.Evidence{Report: seen.report, Counts: counts}.Judge()
	s := Step{
		RequestsPerS: float64(t.sent) / t.seconds, EventsPerS: float64(t.came) / t.seconds,
		Streams: t.open, Cores: seen.cores, LatenessP99MS: seen.report.Lateness.P99,
		Reasons: verdict.Reasons,
	}
	if t.due == 0 {
		s.Reasons = append(s.Reasons, "Nothing was due in the time measured.")
	}
	if float64(t.came) < carried*float64(t.due) {
		s.Reasons = append(s.Reasons, fmt.Sprintf("Of %d events due %d came in time, fewer than %.0f %%.", t.due, t.came, carried*100))
	}
	if t.failed > 0 {
		s.Reasons = append(s.Reasons, fmt.Sprintf("%d requests failed, such as with %s.", t.failed, t.failure))
	}
	s.Sustained = len(s.Reasons) == 0
	return s
}
