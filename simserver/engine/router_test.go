package engine

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"llmsim-bench/internal/sleep"
	"llmsim-bench/simserver/plan"
)

// replica is an engine that does nothing by itself.
type replica struct {
	Instant
	full   bool
	runs   []*Request
	closed bool
}

func (e *replica) Accept(*Request) error {
	if e.full {
		return &QueueFull{}
	}
	return nil
}
func (e *replica) Submit(r *Request) { e.runs = append(e.runs, r) }
func (e *replica) Close()            { e.closed = true }

// newReplicas returns a router over three such engines.
func newReplicas(route Route) (*Router, []*replica) {
	replicas := []*replica{{}, {}, {}}
	return NewRouter([]Engine{replicas[0], replicas[1], replicas[2]}, route), replicas
}

// give has a router accept and submit a request, and returns it.
func give(t *testing.T, r *Router, p *plan.Plan) *Request {
	t.Helper()
	q := &Request{Plan: p, Outlet: newOutlet(sleep.NewClock())}
	if err := r.Accept(q); err != nil {
		t.Fatal(err)
	}
	r.Submit(q)
	return q
}

func TestRoundRobin(t *testing.T) {
	r, replicas := newReplicas(&RoundRobin{})
	for range 4 {
		give(t, r, planOf(1, 1))
	}
	replicas[1].full = true
	if err := r.Accept(&Request{Plan: planOf(1, 1)}); err == nil {
		t.Error("the full replica's turn was passed over")
	}
	give(t, r, planOf(1, 1))
	for i, want := range []int{2, 1, 2} {
		if got := len(replicas[i].runs); got != want {
			t.Errorf("replica %d has %d requests, want %d", i, got, want)
		}
	}
	r.Close()
	for i, e := range replicas {
		if !e.closed {
			t.Errorf("replica %d is not closed", i)
		}
	}
}

func TestLeastLoaded(t *testing.T) {
	r, replicas := newReplicas(LeastLoaded{})
	var requests []*Request
	for range 6 {
		requests = append(requests, give(t, r, planOf(1, 1)))
	}
	for i, e := range replicas {
		if len(e.runs) != 2 {
			t.Fatalf("replica %d has %d requests, want 2", i, len(e.runs))
		}
	}
	requests[2].Outlet.Done(nil) // of replica 2
	if give(t, r, planOf(1, 1)); len(replicas[2].runs) != 3 {
		t.Error("the replica whose request had ended was not chosen")
	}
	r.Abort(requests[2]) // too late: its end was counted
	r.Abort(requests[4]) // of replica 1
	r.Abort(requests[4])
	replicas[1].full = true
	if err := r.Accept(&Request{Plan: planOf(1, 1)}); err == nil {
		t.Error("the replica whose request was aborted was not chosen")
	}
	replicas[1].full = false
	if give(t, r, planOf(1, 1)); len(replicas[1].runs) != 3 {
		t.Error("a refused request counts as load")
	}
	if give(t, r, planOf(1, 1)); len(replicas[0].runs) != 3 {
		t.Error("of equals the first was not chosen")
	}
	var given, running int64
	for _, s := range r.Replicas() {
		given += s.Requests
		running += s.Running
	}
	if given != 9 || running != 7 {
		t.Errorf("%d requests given and %d running, want 9 and 7", given, running)
	}
}

// prompt is made of blocks of four equal tokens.
func prompt(blocks ...plan.TokenID) *plan.Plan {
	p := planOf(0, 1)
	for _, b := range blocks {
		p.Prompt = append(p.Prompt, b, b, b, b)
	}
	return p
}

func TestPrefixAffinity(t *testing.T) {
	a := NewPrefixAffinity(4)
	idle, busyFirst := []int{0, 0, 0}, []int{1, 0, 0}
	choose := func(what string, p *plan.Plan, load []int, want int) {
		t.Helper()
		if got := a.Choose(p, load); got != want {
			t.Errorf("%s: replica %d, want %d", what, got, want)
		}
	}
	choose("an unknown prompt", prompt(1, 2), busyFirst, 1)
	a.Served(prompt(1, 2, 3), 2)
	choose("the same prompt", prompt(1, 2, 3), idle, 2)
	choose("a shorter one", prompt(1), idle, 2)
	choose("a longer one", prompt(1, 2, 3, 4), idle, 2)
	choose("the same blocks behind another", prompt(9, 2, 3), busyFirst, 1)
	choose("less than a block in common", &plan.Plan{Prompt: []plan.TokenID{1, 1, 1}}, busyFirst, 1)

	a.Served(prompt(1, 7), 0)
	choose("the longer common prefix, served earlier", prompt(1, 2, 8), idle, 2)
	choose("the shorter common prefix, served last", prompt(1, 8), idle, 0)
	a.Served(prompt(1, 2), 1)
	choose("two blocks, served last elsewhere", prompt(1, 2, 8), idle, 1)
	choose("three blocks", prompt(1, 2, 3), idle, 2)
}

func TestPrefixAffinityForgetsWhatWasServedFirst(t *testing.T) {
	a := NewPrefixAffinity(4)
	a.capacity = 4
	a.Served(prompt(1, 2), 1)
	a.Served(prompt(3, 4), 2)
	a.Served(prompt(1, 2), 1)
	a.Served(prompt(5), 0) // one too many: the deepest of 3, 4
	for _, c := range []struct {
		p    *plan.Plan
		want int
	}{{prompt(1, 2), 1}, {prompt(3, 4), 2}, {prompt(5), 0}} {
		if got := a.Choose(c.p, []int{0, 1, 1}); got != c.want {
			t.Errorf("prompt %v: replica %d, want %d", c.p.Prompt, got, c.want)
		}
	}
	a.Served(prompt(6), 1) // and now the other
	if got := a.Choose(prompt(3, 4), []int{1, 1, 0}); got != 2 {
		t.Errorf("what was forgotten went to replica %d, want the least loaded, 2", got)
	}
	if got := a.Choose(prompt(3, 4), []int{0, 1, 1}); got != 0 {
		t.Errorf("what was forgotten went to replica %d, want the least loaded, 0", got)
	}
	a.Served(prompt(11, 12, 13, 14, 15, 16), 2)
	if n := len(a.blocks); n > 4 || a.recent.Len() != n {
		t.Errorf("%d blocks are kept, the bound is 4", n)
	}
}

// Each replica has its own timeline, and their steps add up.
func TestReplicasAreIndependent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := sleep.NewClock()
		f := &frontier{}
		f.since.Store(nothingOnItsWay)
		var replicas []Engine
		for range 2 {
			loop, config := newTestLoop(t, "vllm-0.16")
			replicas = append(replicas, NewBatched(BatchedConfig{
				Loop: loop, Scheduler: config, Grace: int64(2 * time.Millisecond),
				Clock: clock, Sleeper: sleep.NewPortable(clock), Frontier: f,
			}))
		}
		r := NewRouter(replicas, &RoundRobin{})
		defer r.Close()
		var firsts []time.Duration
		for range 2 { // the second time after a reset
			r.ResetSteps()
			var requests []*Request
			start := clock.Now()
			for i := range 3 {
				q := &Request{Plan: planOf(32, 4+i), Arrival: clock.Now(), Outlet: newOutlet(clock)}
				if err := r.Accept(q); err != nil {
					t.Fatal(err)
				}
				r.Submit(q)
				requests = append(requests, q)
				time.Sleep(3 * time.Millisecond)
			}
			for _, q := range requests {
				out := q.Outlet.(*routedOutlet).Outlet.(*outlet)
				if err := <-out.done; err != nil {
					t.Fatal(err)
				}
				firsts = append(firsts, time.Duration(q.Timelines[0].Due[0]-start).Round(time.Microsecond))
			}
			all, each := r.Steps(), r.Replicas()
			if all.Count != each[0].Steps.Count+each[1].Steps.Count || all.Count == 0 || each[1].Steps.Count == 0 {
				t.Errorf("%d steps, of replicas %d and %d", all.Count, each[0].Steps.Count, each[1].Steps.Count)
			}
			if all.Duration.Count != all.Count || all.BatchSize.Count != all.Count || all.KVUse.Count != all.Count {
				t.Errorf("the sums are over different steps: %+v", all)
			}
			if q := all.PrefixCache; q.Requests != 3 || q.Hits != each[0].Steps.PrefixCache.Hits+each[1].Steps.PrefixCache.Hits {
				t.Errorf("prefix lookups of 3 requests: %+v", q)
			}
			if each[0].Requests+each[1].Requests != 3 || each[0].Running+each[1].Running != 0 {
				t.Errorf("replicas: %+v", each)
			}
		}
		// The second request finds its replica idle, the third one two steps in flight.
		want := []time.Duration{stepTime, 3*time.Millisecond + stepTime, 3 * stepTime}
		if got := firsts[:3]; !slices.Equal(got, want) {
			t.Errorf("first tokens at %v, want %v", got, want)
		}
	})
}
