package bench_test

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"llmsim-bench/bench"
	"llmsim-bench/bench/arrival"
	"llmsim-bench/bench/record"
	"llmsim-bench/bench/summary"
	"llmsim-bench/bench/workload"
)

// These tests know beforehand what a true client must report of a server that
// behaves in a simple way. Machines may be slow: bounds are wide on that side, and
// the order of figures is strict.

// takes returns a server whose every answer, but for the probes before the load,
// takes so long.
func takes(d time.Duration) *scripted {
	return &scripted{answer: func(w http.ResponseWriter, r *http.Request, c *chat) {
		if !c.probe() {
			select {
			case <-time.After(d): // the server's work
			case <-r.Context().Done():
				return
			}
		}
		answerWell(w, c)
	}}
}

func constant(rate float64) bench.Load {
	return bench.Load{Arrivals: arrival.Process{Kind: arrival.KindConstant, Rate: rate}}
}

// A server of 500 ms with one request at a time: request k, due at 100 ms · k,
// ends at 500 ms · (k+1). Eight of them take 0.5 + 0.4 · 3.5 = 1.9 s on average.
func TestLatencyCountsFromTheSchedule(t *testing.T) {
	t.Parallel()
	c := short(takes(500 * time.Millisecond).start(t))
	c.Loads, c.Duration, c.Warmup, c.MaxInFlight = []bench.Load{constant(10)}, 800*time.Millisecond, 0, 1
	result, _ := measured(t, c)
	allOK(t, result)
	p := result.Points[0]
	due, sent := p.Metrics[summary.E2E].Client, p.Metrics[summary.E2ESent].Client
	if p.Accounting.OK != 8 || due.Mean < 1890 || due.Mean > 2600 || sent.Mean < 495 || sent.Mean > 900 || due.Mean < 2*sent.Mean {
		t.Errorf("%d ok, mean e2e %v ms from the schedule and %v ms from sending; want 8, about 1900 and 500", p.Accounting.OK, due.Mean, sent.Mean)
	}
	// The wait for the place is not the client's own doing.
	if delay := p.Metrics[summary.DispatchDelay].Client; delay.P50 > 100 {
		t.Errorf("dispatch delay %+v", delay)
	}
}

// A refusal is fast, and must not make the latencies look good.
func TestRefusalsAreNoLatencies(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	well := takes(100 * time.Millisecond)
	half := &scripted{answer: func(w http.ResponseWriter, r *http.Request, c *chat) {
		if !c.probe() && n.Add(1)%2 == 0 {
			w.Header().Set("Retry-After", "2")
			http.Error(w, `{"error":{"message":"slow down"}}`, http.StatusTooManyRequests)
			return
		}
		well.answer(w, r, c)
	}}
	c := short(half.start(t))
	c.Loads, c.Duration = []bench.Load{constant(100)}, 400*time.Millisecond
	result, records := measured(t, c)
	p := result.Points[0]
	if a := p.Accounting; a.OK != 20 || a.FailedByKind[record.KindRateLimited] != 20 {
		t.Errorf("%+v, want 20 ok and 20 rate_limited", a)
	}
	for _, metric := range []string{summary.TTFT, summary.E2E} {
		if s := p.Metrics[metric].Client; s.Count != 20 || s.P50 < 100 {
			t.Errorf("%s %+v, want 20 values of 100 ms or more", metric, s)
		}
	}
	for _, r := range records {
		if r.Outcome == record.Failed && (r.RetryAfter == nil || *r.RetryAfter != 2 || len(r.Retried) != 0) {
			t.Errorf("request %d: Retry-After %v, retried %v", r.ID, r.RetryAfter, r.Retried)
		}
	}
}

// TestRetriesCountFromTheFirstSchedule: the wait that a server asks for is part
// of the latency.
func TestRetriesCountFromTheFirstSchedule(t *testing.T) {
	t.Parallel()
	var refused sync.Map
	server := &scripted{answer: func(w http.ResponseWriter, _ *http.Request, c *chat) {
		if _, again := refused.LoadOrStore(c.prompt, true); !c.probe() && !again {
			w.Header().Set("Retry-After", "0.3")
			http.Error(w, `{"error":{"message":"slow down"}}`, http.StatusTooManyRequests)
			return
		}
		answerWell(w, c)
	}}
	c := short(server.start(t))
	c.Retries = 1
	result, _ := measured(t, c)
	allOK(t, result)
	p := result.Points[0]
	if n := p.Accounting.RetriedByKind[record.KindRateLimited]; n == 0 || n != p.Accounting.OK {
		t.Errorf("%+v, want every request to be made again once", p.Accounting)
	}
	due, sent := p.Metrics[summary.E2E].Client, p.Metrics[summary.E2ESent].Client
	if due.P50 < 300 || due.P50 < 3*sent.P50 {
		t.Errorf("e2e p50 %v ms from the schedule, %v ms from the last sending", due.P50, sent.P50)
	}
}

// A server that can do 10 requests a second and is offered 20 gets later by half a
// second each second: nothing that it does is stationary.
func TestAnOverloadedServerIsUnstable(t *testing.T) {
	t.Parallel()
	turn := make(chan struct{}, 1)
	serial := &scripted{answer: func(w http.ResponseWriter, _ *http.Request, c *chat) {
		if !c.probe() {
			turn <- struct{}{}
			<-time.After(100 * time.Millisecond) // its work, one request at a time
			<-turn
		}
		answerWell(w, c)
	}}
	c := short(serial.start(t))
	c.Loads, c.Duration = []bench.Load{constant(20)}, 4*time.Second
	result, _ := measured(t, c)
	b := result.Points[0].Backlog
	if b == nil || !b.Unstable || b.GrowthPerS < 7 || b.GrowthPerS > 20 {
		t.Errorf("%+v, want unstable, by about 10/s", b)
	}
}

func TestAServerThatKeepsUpIsStable(t *testing.T) {
	t.Parallel()
	c := short(takes(200 * time.Millisecond).start(t))
	c.Loads, c.Duration, c.Warmup = []bench.Load{constant(20)}, 2*time.Second, time.Second
	result, _ := measured(t, c)
	allOK(t, result)
	if b := result.Points[0].Backlog; b == nil || b.Unstable {
		t.Errorf("%+v, want stable", b)
	}
}

// All of a burst is due at once; how far the sending lags behind is reported.
func TestABurstTellsWithinWhichTimeItWasSent(t *testing.T) {
	t.Parallel()
	var server scripted
	c := short(server.start(t))
	c.Loads = []bench.Load{{Arrivals: arrival.Process{Kind: arrival.KindBurst, Requests: 1000}}}
	c.Duration, c.Warmup = 2*time.Second, 0
	result, records := measured(t, c)
	p := result.Points[0]
	if p.Accounting.Scheduled != 1000 || p.Accounting.OK != 1000 {
		t.Fatalf("%+v", p.Accounting)
	}
	first, last := records[0].Sent, records[0].Sent
	for _, r := range records {
		if r.Sched != records[0].Sched {
			t.Fatalf("request %d is due at %d, another at %d", r.ID, r.Sched, records[0].Sched)
		}
		first, last = min(first, r.Sent), max(last, r.Sent)
	}
	if want := float64(last-first) / 1e6; p.SendSpreadMS != want || want <= 0 {
		t.Errorf("the burst was sent within %v ms, reported as %v ms", want, p.SendSpreadMS)
	}
	if p.Arrivals != "burst of 1000" {
		t.Errorf("arrivals %q", p.Arrivals)
	}
}

// Nothing between the schedule and the server caps or queues requests.
func TestAllRequestsInFlightArrive(t *testing.T) {
	t.Parallel()
	const n = 2501
	var inFlight atomic.Int64
	all := make(chan struct{})
	server := &scripted{answer: func(w http.ResponseWriter, r *http.Request, c *chat) {
		if !c.probe() {
			if inFlight.Add(1) == n {
				close(all)
			}
			select {
			case <-all: // nobody is answered before everybody is here
			case <-r.Context().Done():
				return
			}
		}
		answerWell(w, c)
	}}
	c := short(server.start(t))
	c.Loads = []bench.Load{{Arrivals: arrival.Process{Kind: arrival.KindBurst, Requests: n}}}
	c.Duration, c.Warmup = 5*time.Second, 0
	c.Shape = workload.Exactly(4, 2)
	result, _ := measured(t, c)
	if a := result.Points[0].Accounting; a.OK != n {
		t.Errorf("%+v with %d in flight, want %d ok", a, inFlight.Load(), n)
	}
}
