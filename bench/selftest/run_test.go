package selftest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"llmsim-bench/bench/health"
	"llmsim-bench/bench/load"
	"llmsim-bench/bench/record"
	"llmsim-bench/internal/hist"
	"llmsim-bench/internal/sleep"
)

func TestCountIsOfTheWindow(t *testing.T) {
	rec := func(sched int64, at ...int64) *record.Request {
		r := record.New()
		r.Sched, r.Sent, r.Outcome = record.Instant(sched), record.Instant(sched), record.OK
		for _, ns := range at {
			r.Events = append(r.Events, record.Event{At: record.Instant(ns), Tokens: 1})
			r.Last, r.End = record.Instant(ns), record.Instant(ns)
		}
		if len(at) > 0 {
			r.First = record.Instant(at[0])
		}
		return r
	}
	records := []*record.Request{
		rec(70, 71, 81, 91),     // before the window
		rec(85, 86, 96, 106),    // due in it: at 105
		rec(100, 101, 111, 121), // all of it
		rec(180, 181, 191, 201), // due in it: at 180, 190; still open at its end
		rec(195),                // due in it, and nothing came
		rec(200, 201, 211, 221), // after it
	}
	records[4].Outcome, records[4].Kind, records[4].Error = record.Failed, record.KindReset, "gone"
	got := count(records, &shape{events: 3, pace: 10}, 100, 200)
	want := tally{seconds: 100e-9, due: 7, came: 6, sent: 3, open: 1, failed: 1, failure: "reset: gone"}
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestStepIsJudged(t *testing.T) {
	fine := tally{seconds: 2, due: 100, came: 97, sent: 10, open: 3}
	counts := health.Counts{Due: 100, Dispatched: 100}
	got := fine.step(observed{cores: 0.5, report: health.Report{Lateness: hist.Stats{P99: 1}}}, counts)
	if !got.Sustained || got.RequestsPerS != 5 || got.EventsPerS != 48.5 || got.Streams != 3 || got.Cores != 0.5 || got.LatenessP99MS != 1 {
		t.Errorf("%+v", got)
	}
	busy := 0.9
	for reason, change := range map[string]func(*tally, *observed, *health.Counts){
		"wake-ups were up to 6.0 ms late":  func(_ *tally, o *observed, _ *health.Counts) { o.report.Lateness.P99 = 6 },
		"used 90.0 % of its 2 cores":       func(_ *tally, o *observed, _ *health.Counts) { o.report.ProcessCPU, o.report.Cores = &busy, 2 },
		"dispatched 98 of 100":             func(_ *tally, _ *observed, c *health.Counts) { c.Dispatched = 98 },
		"Of 100 events due 96 came":        func(t *tally, _ *observed, _ *health.Counts) { t.came = 96 },
		"1 requests failed, such as with ": func(t *tally, _ *observed, _ *health.Counts) { t.failed = 1 },
		"Nothing was due":                  func(t *tally, _ *observed, _ *health.Counts) { t.due, t.came = 0, 0 },
	} {
		tl, o, c := fine, observed{}, counts
		change(&tl, &o, &c)
		if s := tl.step(o, c); s.Sustained || len(s.Reasons) != 1 || !strings.Contains(s.Reasons[0], reason) {
			t.Errorf("want %q: %+v", reason, s)
		}
	}
}

// tiny is a plan of a moment, with loads that any machine carries.
func tiny() Plan {
	stage := func(level float64, warmup time.Duration) Stage {
		return Stage{
			Ladder: Ladder{Start: level, Factor: 2, Max: level, Tries: 1}, Warmup: warmup,
			Window: 100 * time.Millisecond, // and no time for a second step
		}
	}
	return Plan{
		Quiet: 20 * time.Millisecond, Requests: stage(200, 20*time.Millisecond), Events: stage(2000, 50*time.Millisecond),
		Streams: stage(20, 20*time.Millisecond), Dispatch: 100 * time.Millisecond, DispatchRate: 100, Seed: 1,
	}
}

func TestRunMeasuresEveryPart(t *testing.T) {
	s := startNull(t)
	var said []string
	r, err := Run(t.Context(), Options{URL: s.URL(), Key: thisKey, Plan: tiny(), Progress: func(what string) { said = append(said, what) }})
	if err != nil {
		t.Fatal(err)
	}
	// Whether this machine is well at the moment is not for a test to ask; what
	// the loads were is.
	for name, p := range map[string]Part{"requests": r.Requests, "events": r.Events, "streams": r.Streams} {
		if len(p.Steps) == 0 {
			t.Fatalf("%s: no steps", name)
		}
		for _, reason := range p.Steps[0].Reasons {
			if strings.Contains(reason, "failed") || strings.Contains(reason, "Nothing was due") {
				t.Errorf("%s: %s", name, reason)
			}
		}
	}
	if r.Requests.Steps[0].Level != 200 || r.Events.Steps[0].Level != 2000 || r.Streams.Steps[0].Level != 20 {
		t.Errorf("%+v, %+v, %+v", r.Requests, r.Events, r.Streams)
	}
	if (r.Dispatch != nil) != (r.Requests.Sustained > 0) {
		t.Errorf("%v requests/s sustained and dispatch %+v", r.Requests.Sustained, r.Dispatch)
	}
	if r.Key != thisKey || r.Schema != Schema || r.Limits.Open <= 0 || len(said) < 4 {
		t.Errorf("%+v, said %q", r, said)
	}
}

// TestClientSendsTheShape: every request of a load is sent, and answered with all
// of its events, if there is time for it.
func TestClientSendsTheShape(t *testing.T) {
	s := startNull(t)
	c := client{server: s.URL(), clock: sleep.NewClock(), seed: 1}
	window := load.Window{Warmup: 20 * time.Millisecond, Measure: 100 * time.Millisecond}
	for name, sh := range map[string]shape{
		"requests": {rate: 500, events: 1, window: window, drain: time.Minute},
		"events":   {rate: 200, events: 30, pace: time.Millisecond, window: window, drain: time.Minute},
		"streams":  {rate: 1000, opened: 15 * time.Millisecond, events: 10, pace: 10 * time.Millisecond, window: window, drain: time.Minute},
	} {
		var records []*record.Request
		step, err := c.run(t.Context(), sh, func(rec *record.Request) { records = append(records, rec) })
		if err != nil {
			t.Fatal(err)
		}
		if len(records) == 0 || sh.opened > 0 && len(records) != 15 {
			t.Errorf("%s: %d requests", name, len(records))
		}
		for _, rec := range records {
			if rec.Outcome != record.OK || len(rec.Events) != sh.events {
				t.Fatalf("%s: %+v", name, rec)
			}
		}
		if strings.Contains(strings.Join(step.Reasons, " "), "Nothing was due") {
			t.Errorf("%s: %q", name, step.Reasons)
		}
	}
}

// TestDispatchComparesTheSameArrivals: as many of the dispatcher's as of the bare
// sleeper's, at the rate that is sustained.
func TestDispatchComparesTheSameArrivals(t *testing.T) {
	s := startNull(t)
	for sustained, want := range map[float64]float64{50: 50, 1000: 100} {
		tt := &test{o: Options{Plan: tiny()}, ctx: t.Context(), client: client{server: s.URL(), clock: sleep.NewClock(), seed: 1}}
		tt.result.Requests.Sustained = sustained
		if err := tt.dispatch(); err != nil {
			t.Fatal(err)
		}
		d := tt.result.Dispatch
		if d == nil || d.RequestsPerS != want || d.Delay.Count == 0 || d.Delay.Count != d.Sleeper.Count {
			t.Errorf("%v sustained: %+v, want as many of both at %v", sustained, d, want)
		}
	}
}

func TestDispatchEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	tt := &test{o: Options{Plan: tiny()}, ctx: ctx, client: client{server: startNull(t).URL(), clock: sleep.NewClock()}}
	tt.result.Requests.Sustained = 100
	if err := tt.dispatch(); !errors.Is(err, context.Canceled) || tt.result.Dispatch != nil {
		t.Errorf("%v, %+v", err, tt.result.Dispatch)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	s := startNull(t)
	p := Full(1000)
	p.Quiet = 0
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Run(ctx, Options{URL: s.URL(), Plan: p, Progress: func(what string) {
		if strings.HasSuffix(what, "requests/s") {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestRunWithoutAServer(t *testing.T) {
	p := tiny()
	p.Quiet = 0
	r, err := Run(t.Context(), Options{URL: "http://127.0.0.1:1", Plan: p})
	if err != nil {
		t.Fatal(err)
	}
	if r.Requests.Sustained != 0 || r.Dispatch != nil || len(r.Notes) == 0 || !strings.Contains(strings.Join(r.Requests.Steps[0].Reasons, " "), "failed") {
		t.Errorf("%+v", r)
	}
	if _, err := Run(t.Context(), Options{URL: "nowhere", Plan: p}); err == nil {
		t.Error("a URL that is none was taken")
	}
}

// TestPlansFitTheirTime: at a level each, and with what their ladders may spend.
func TestPlansFitTheirTime(t *testing.T) {
	for _, c := range []struct {
		plan Plan
		most time.Duration
	}{{Full(5000), 40 * time.Second}, {Quick(5000), 12 * time.Second}} {
		p := c.plan
		total := p.Quiet + p.Requests.Budget + p.Events.Budget + p.Streams.Budget + p.Requests.Warmup + p.Dispatch
		if total > c.most {
			t.Errorf("%v, want at most %v", total, c.most)
		}
		for _, s := range []Stage{p.Requests, p.Events, p.Streams} {
			if s.Ladder.Start > s.Ladder.Max || s.Ladder.Factor <= 1 || s.Window <= 0 {
				t.Errorf("%+v", s)
			}
		}
	}
}
