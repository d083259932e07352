package metrics

import (
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"llmsim-bench/internal/hist"
	"llmsim-bench/internal/wire"
)

const ms = int64(time.Millisecond)

func newRegistry() *Registry {
	return New([]Model{{Name: "sim-fixed", Engine: "fixed_rate"}, {Name: "sim-instant", Engine: "instant"}}, 1)
}

// fixedRate is the timeline of n tokens as sim-fixed has it for 512 prompt
// tokens, each released late by so much.
func fixedRate(arrival int64, n int, late int64) Timeline {
	var t Timeline
	for i := range int64(n) {
		t.Due = append(t.Due, arrival+7_120_000+4*ms*i)
		t.Released = append(t.Released, t.Due[i]+late)
	}
	return t
}

func completed(arrival int64, choices ...Timeline) Outcome {
	return Outcome{Queue: -1, Arrival: arrival, Streamed: true, Choices: choices}
}

// one is the Stats of values that are all v ms.
func one(count int64, v float64) *hist.Stats {
	return &hist.Stats{Count: count, Mean: v, P50: v, P90: v, P95: v, P99: v, Max: v}
}

// near compares a view of three digits: the values and 0.1 %.
func near(t *testing.T, what string, got *hist.Stats, count int64, v float64) {
	t.Helper()
	if got == nil {
		t.Errorf("%s is absent, want %d values of %v ms", what, count, v)
		return
	}
	for _, x := range []float64{got.Mean, got.P50, got.P99, got.Max} {
		if got.Count != count || x < v*0.999 || x > v*1.001 {
			t.Errorf("%s is %+v, want %d values of %v ms", what, *got, count, v)
			return
		}
	}
}

func sameColumn(t *testing.T, what string, got, want *hist.Stats) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s is %+v, want %+v", what, got, want)
	}
}

func TestCompletedStreams(t *testing.T) {
	r := newRegistry()
	for i := range int64(3) {
		arrival := 1000 * ms * i
		r.Begin("sim-fixed", "", 512).End(completed(arrival, fixedRate(arrival, 64, ms)))
	}
	m := r.Summary("").Models["sim-fixed"]
	if m.Engine != "fixed_rate" || m.PromptTokens != 3*512 || m.OutputTokens != 3*64 || m.BackpressuredTokens != 0 {
		t.Errorf("model is %+v", m)
	}
	if want := (wire.Requests{Received: 3, Completed: 3}); !reflect.DeepEqual(m.Requests, want) {
		t.Errorf("requests are %+v, want %+v", m.Requests, want)
	}

	// The simulated view is exact.
	sameColumn(t, "simulated ttft", m.Metrics["ttft"].Simulated, one(3, 7.12))
	sameColumn(t, "simulated tpot", m.Metrics["tpot"].Simulated, one(3, 4))
	sameColumn(t, "simulated itl", m.Metrics["itl"].Simulated, one(3*63, 4))
	sameColumn(t, "simulated e2e", m.Metrics["e2e"].Simulated, one(3, 259.12))
	sameColumn(t, "simulated lag", m.Metrics["lag"].Simulated, nil)
	near(t, "server ttft", m.Metrics["ttft"].Server, 3, 8.12)
	near(t, "server tpot", m.Metrics["tpot"].Server, 3, 4)
	near(t, "server itl", m.Metrics["itl"].Server, 3*63, 4)
	near(t, "server e2e", m.Metrics["e2e"].Server, 3, 260.12)
	near(t, "lag", m.Metrics["lag"].Server, 3*64, 1)
	for name, c := range m.Metrics {
		if c.Client != nil {
			t.Errorf("%s has a client view", name)
		}
	}
}

// At ten times the speed of the wall clock, what the server did took a tenth of the
// time that passed on the timeline.
func TestServerColumnsAreWallTime(t *testing.T) {
	r := New([]Model{{Name: "sim-fixed", Engine: "fixed_rate"}}, 10)
	o := completed(0, fixedRate(0, 64, 10*ms))
	o.Queue, o.QueueServer = 3*ms, 8*ms
	r.Begin("sim-fixed", "", 512).End(o)
	s := r.Summary("")
	if s.TimeScale != 10 {
		t.Errorf("time scale %v, want 10", s.TimeScale)
	}
	m := s.Models["sim-fixed"].Metrics
	sameColumn(t, "simulated ttft", m["ttft"].Simulated, one(1, 7.12))
	sameColumn(t, "simulated tpot", m["tpot"].Simulated, one(1, 4))
	sameColumn(t, "simulated itl", m["itl"].Simulated, one(63, 4))
	sameColumn(t, "simulated e2e", m["e2e"].Simulated, one(1, 259.12))
	sameColumn(t, "simulated queue", m["queue"].Simulated, one(1, 3))
	near(t, "server ttft", m["ttft"].Server, 1, 1.712)
	near(t, "server tpot", m["tpot"].Server, 1, 0.4)
	near(t, "server itl", m["itl"].Server, 63, 0.4)
	near(t, "server e2e", m["e2e"].Server, 1, 26.912)
	near(t, "server queue", m["queue"].Server, 1, 0.8)
	near(t, "lag", m["lag"].Server, 64, 1)
}

func TestRejectedAreInNoOtherCount(t *testing.T) {
	r := newRegistry()
	r.Reject("sim-fixed", "p", "queue_full")
	r.Begin("sim-fixed", "p", 1)
	r.Reject("sim-fixed", "", "queue_full")
	for phase, rejected := range map[string]int64{"": 2, "p": 1} {
		want := wire.Requests{Received: 1, Running: 1, Rejected: map[string]int64{"queue_full": rejected}}
		if got := r.Summary(phase).Models["sim-fixed"].Requests; !reflect.DeepEqual(got, want) {
			t.Errorf("phase %q: %+v, want %+v", phase, got, want)
		}
	}
	r.Reset()
	if got := r.Summary("").Models["sim-fixed"].Requests; got.Rejected != nil {
		t.Errorf("the new period starts with %+v", got)
	}
}

func TestModelWithoutRequests(t *testing.T) {
	r := newRegistry()
	r.Begin("sim-fixed", "", 1)
	got := r.Summary("")
	want := wire.Summary{Schema: wire.SummarySchema, TimeScale: 1, Models: map[string]wire.Model{
		"sim-fixed":   {Engine: "fixed_rate", Requests: wire.Requests{Received: 1, Running: 1}, Metrics: map[string]wire.Columns{}},
		"sim-instant": {Engine: "instant", Metrics: map[string]wire.Columns{}},
	}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("summary is %+v, want %+v", got, want)
	}
}

func TestSingleTokenHasNoTPOT(t *testing.T) {
	r := newRegistry()
	r.Begin("sim-fixed", "", 512).End(completed(0, fixedRate(0, 1, 0)))
	m := r.Summary("").Models["sim-fixed"].Metrics
	for _, name := range []string{"tpot", "itl"} {
		if c, there := m[name]; there {
			t.Errorf("%s of a single token is %+v, want none", name, c)
		}
	}
	sameColumn(t, "simulated ttft", m["ttft"].Simulated, one(1, 7.12))
}

func TestChoicesCountEach(t *testing.T) {
	r := newRegistry()
	r.Begin("sim-fixed", "", 512).End(completed(0, fixedRate(0, 4, 0), fixedRate(0, 4, 0)))
	m := r.Summary("").Models["sim-fixed"]
	if m.OutputTokens != 8 || m.Requests.Completed != 1 {
		t.Errorf("model is %+v", m)
	}
	sameColumn(t, "simulated e2e", m.Metrics["e2e"].Simulated, one(2, 19.12))
}

func TestBackpressuredTokensHaveNoServerTimes(t *testing.T) {
	r := newRegistry()
	line := fixedRate(0, 6, 0)
	line.Released[2], line.Backpressured = -1, 1
	r.Begin("sim-fixed", "", 512).End(completed(0, line))

	line = fixedRate(0, 2, 0)
	line.Released[1], line.Backpressured = -1, 1
	r.Begin("sim-fixed", "", 512).End(completed(0, line))

	m := r.Summary("").Models["sim-fixed"]
	if m.BackpressuredTokens != 2 || m.OutputTokens != 8 {
		t.Errorf("model is %+v", m)
	}
	near(t, "server ttft", m.Metrics["ttft"].Server, 2, 7.12)
	near(t, "server itl", m.Metrics["itl"].Server, 3, 4) // 0→1, 3→4, 4→5
	near(t, "server tpot", m.Metrics["tpot"].Server, 1, 4)
	near(t, "server e2e", m.Metrics["e2e"].Server, 1, 27.12)
	if got := m.Metrics["lag"].Server.Count; got != 6 {
		t.Errorf("lag has %d values, want 6", got)
	}
	sameColumn(t, "simulated itl", m.Metrics["itl"].Simulated, one(6, 4))
}

func TestAnswerSentWhole(t *testing.T) {
	r := newRegistry()
	for _, n := range []int{4, 1} {
		line := fixedRate(0, n, 2*ms)
		for i := range n - 1 {
			line.Released[i] = -1
		}
		o := completed(0, line)
		o.Streamed = false
		r.Begin("sim-fixed", "", 512).End(o)
	}
	m := r.Summary("").Models["sim-fixed"].Metrics
	for _, name := range []string{"ttft", "tpot", "itl"} {
		if m[name].Server != nil {
			t.Errorf("server %s is %+v, want none", name, *m[name].Server)
		}
		if m[name].Simulated == nil {
			t.Errorf("simulated %s is absent", name)
		}
	}
	if got := m["e2e"].Server; got.Count != 2 || got.Max < 21.1 || got.Max > 21.2 {
		t.Errorf("server e2e is %+v, want 9.12 and 21.12 ms", got)
	}
	near(t, "lag", m["lag"].Server, 2, 2)
}

func TestAborted(t *testing.T) {
	r := newRegistry()
	line := fixedRate(0, 10, ms)
	line.Released = line.Released[:4]
	cut := completed(0, line)
	cut.Aborted = "client_closed"
	r.Begin("sim-fixed", "", 512).End(cut)
	// Left while it waited: nothing was released.
	r.Begin("sim-fixed", "", 100).End(Outcome{Queue: -1, Aborted: "drain", Streamed: true, Choices: []Timeline{{Due: []int64{5}}}})

	m := r.Summary("").Models["sim-fixed"]
	want := wire.Requests{Received: 2, Aborted: map[string]int64{"client_closed": 1, "drain": 1}}
	if !reflect.DeepEqual(m.Requests, want) {
		t.Errorf("requests are %+v, want %+v", m.Requests, want)
	}
	if m.PromptTokens != 612 || m.OutputTokens != 4 {
		t.Errorf("%d prompt and %d output tokens, want 612 and 4", m.PromptTokens, m.OutputTokens)
	}
	if len(m.Metrics) != 2 {
		t.Errorf("metrics are %v, want itl and lag only", m.Metrics)
	}
	sameColumn(t, "simulated itl", m.Metrics["itl"].Simulated, one(3, 4))
	near(t, "lag", m.Metrics["lag"].Server, 4, 1)
}

func TestOnlyTheFirstEndCounts(t *testing.T) {
	r := newRegistry()
	q := r.Begin("sim-fixed", "run/measure", 512)
	q.End(completed(0, fixedRate(0, 2, 0)))
	q.End(Outcome{Queue: -1, Aborted: "client_closed"})
	for _, phase := range []string{"", "run/measure"} {
		m := r.Summary(phase).Models["sim-fixed"]
		if want := (wire.Requests{Received: 1, Completed: 1}); !reflect.DeepEqual(m.Requests, want) {
			t.Errorf("phase %q: requests are %+v, want %+v", phase, m.Requests, want)
		}
	}
}

func received(r *Registry, phase string) int64 {
	return r.Summary(phase).Models["sim-fixed"].Requests.Received
}

func TestPhasesAndReset(t *testing.T) {
	r := newRegistry()
	r.Begin("sim-fixed", "run/warmup", 1).End(completed(0, fixedRate(0, 2, 0)))
	straddling := r.Begin("sim-fixed", "run/measure", 512)
	r.Reset()
	if got := r.Summary("").Models["sim-fixed"]; !reflect.DeepEqual(got, wire.Model{Engine: "fixed_rate", Metrics: map[string]wire.Columns{}}) {
		t.Errorf("the new period starts with %+v", got)
	}
	r.Begin("sim-fixed", "run/measure", 512).End(completed(0, fixedRate(0, 2, 0)))
	straddling.End(completed(0, fixedRate(0, 2, 0)))

	// The request that arrived before the reset is in its phase, not in the period.
	for phase, want := range map[string]int64{"": 1, "run/warmup": 1, "run/measure": 2, "run/none": 0} {
		s := r.Summary(phase)
		m := s.Models["sim-fixed"]
		if s.Phase != phase || m.Requests.Received != want || m.Requests.Completed != want || m.OutputTokens != 2*want {
			t.Errorf("phase %q is %+v, want %d requests completed", phase, m, want)
		}
		if len(s.Models) != 2 || m.Engine != "fixed_rate" {
			t.Errorf("phase %q has the models %v", phase, s.Models)
		}
	}
}

func TestOldestPhaseIsDropped(t *testing.T) {
	r := newRegistry()
	dropped := r.Begin("sim-fixed", "phase 0", 1)
	for i := 1; i < maxPhases; i++ {
		r.Begin("sim-fixed", fmt.Sprintf("phase %d", i), 1)
	}
	if received(r, "phase 0") != 1 {
		t.Error("a phase was dropped within the bound")
	}
	r.Begin("sim-fixed", "one more", 1)
	if received(r, "phase 0") != 0 || received(r, "phase 1") != 1 || received(r, "one more") != 1 {
		t.Error("past the bound the oldest phase, and no other, must go")
	}
	dropped.End(completed(0, fixedRate(0, 2, 0)))
	if got := r.Summary("").Models["sim-fixed"].Requests; got.Received != maxPhases+1 || got.Completed != 1 {
		t.Errorf("the period has %+v", got)
	}
}

func TestUnknownModelPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("Begin took a model that New was not given")
		}
	}()
	newRegistry().Begin("gpt", "", 1)
}

// TestConcurrentUse has requests begin, complete and abort beside summaries and
// resets; in each snapshot the accounting identity must hold.
func TestConcurrentUse(t *testing.T) {
	const workers, each = 8, 200
	r := newRegistry()
	check := func(phase string) wire.Requests {
		q := r.Summary(phase).Models["sim-fixed"].Requests
		ended := q.Completed
		for _, n := range q.Aborted {
			ended += n
		}
		if q.Running < 0 || q.Received != ended+q.Running {
			t.Errorf("phase %q: %+v does not add up", phase, q)
		}
		return q
	}
	stop := make(chan struct{})
	var observers, clients sync.WaitGroup
	observers.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			check("")
			check("even")
			if i%5 == 0 {
				r.Reset()
			}
		}
	})
	for w := range workers {
		clients.Go(func() {
			for i := range each {
				q := r.Begin("sim-fixed", []string{"even", "odd"}[w%2], 10)
				o := completed(0, fixedRate(0, 8, 0))
				if i%4 == 0 {
					o.Aborted = "client_closed"
				}
				q.End(o)
			}
		})
	}
	clients.Wait()
	close(stop)
	observers.Wait()

	want := wire.Requests{
		Received: workers / 2 * each, Completed: workers / 2 * each * 3 / 4,
		Aborted: map[string]int64{"client_closed": workers / 2 * each / 4},
	}
	for _, phase := range []string{"even", "odd"} {
		if got := check(phase); !reflect.DeepEqual(got, want) {
			t.Errorf("phase %q: %+v, want %+v", phase, got, want)
		}
	}
}

func BenchmarkEnd(b *testing.B) {
	r := newRegistry()
	o := completed(0, fixedRate(0, 64, ms))
	b.ReportAllocs()
	for b.Loop() {
		r.Begin("sim-fixed", "run/measure", 512).End(o)
	}
}

func BenchmarkSummary(b *testing.B) {
	r := newRegistry()
	for range 100 {
		r.Begin("sim-fixed", "", 512).End(completed(0, fixedRate(0, 64, ms)))
	}
	for b.Loop() {
		r.Summary("")
	}
}
