package sched

import "testing"

// view says which part of a step a kind of trace shows.
type view uint8

const (
	viewSteps view = iota
	viewBlocks
	viewBig
)

// replay runs a scenario through a Scheduler, by the engine's loop, and tells each
// turn as a trace does.
type replay struct {
	t        *testing.T
	s        *Scheduler
	scenario *scenario
	look     view
	ids      map[string]ID
	names    map[ID]string
	inFlight []int // numbers of the steps being computed
	prefix   PrefixStats
}

func newReplay(t *testing.T, sc *scenario, c Config, look view) *replay {
	s, err := New(c)
	if err != nil {
		t.Fatalf("%s: %v", sc.Name, err)
	}
	return &replay{t: t, s: s, scenario: sc, look: look, ids: map[string]ID{}, names: map[ID]string{}}
}

// step is one turn of the loop: what arrived, then a Schedule, then, unless
// another step is to be scheduled ahead, a Complete.
func (r *replay) step(n int) traceStep {
	out := traceStep{step: &n}
	r.arrive(n)
	out.abortedBeforeSchedule = r.abort(n, "")
	for _, at := range r.scenario.Resets {
		if at == n {
			ok := r.s.ResetPrefixCache()
			out.reset = &ok
		}
	}
	if r.s.MaxInFlight() == 1 || r.s.HasWork() {
		step := r.s.Schedule()
		r.inFlight = append(r.inFlight, n)
		r.tellSchedule(step, &out)
		if r.look == viewBlocks {
			out.tables = r.blockTables()
		}
		if !r.s.Ahead() {
			r.complete(n, &out)
		}
	} else if r.s.InFlight() > 0 {
		r.complete(n, &out)
	}
	r.tellEnd(&out)
	return r.visible(out)
}

func (r *replay) arrive(n int) {
	for i := range r.scenario.Requests {
		q := &r.scenario.Requests[i]
		if q.ArrivalStep != n {
			continue
		}
		id, err := r.s.Add(q.request(i, r.s.config.MaxModelLen))
		if err != nil {
			r.t.Fatalf("%s: %v", r.scenario.Name, err)
		}
		r.ids[q.ID], r.names[id] = id, q.ID
	}
}

func (r *replay) abort(n int, phase string) (aborted []string) {
	for _, a := range r.scenario.Aborts {
		if a.Step == n && a.Phase == phase && r.s.Abort(r.ids[a.ID]) {
			aborted = append(aborted, a.ID)
		}
	}
	return aborted
}

func (r *replay) tellSchedule(step *Step, out *traceStep) {
	out.scheduled = []share{}
	tokens := 0
	for _, e := range step.Seqs {
		out.scheduled = append(out.scheduled, share{r.names[e.ID], int(e.New)})
		tokens += int(e.New)
	}
	if tokens != step.Tokens {
		r.t.Errorf("%s: Step.Tokens is %d, its sequences have %d", r.scenario.Name, step.Tokens, tokens)
	}
	out.admitted, out.resumed, out.cached = []string{}, []string{}, map[string]int{}
	for _, a := range step.Admitted {
		name := r.names[a.ID]
		out.cached[name] = int(a.Cached)
		if a.Resumed {
			out.resumed = append(out.resumed, name)
		} else {
			out.admitted = append(out.admitted, name)
		}
	}
	out.preempted = r.list(step.Preempted)
	free := r.s.FreeBlocks()
	out.freeAfter = &free
	out.runningAfter = r.list(r.s.AppendRunning(nil))
	out.waitingAfter = r.list(r.s.AppendWaiting(nil))
}

func (r *replay) complete(n int, out *traceStep) {
	out.abortedBeforeUpdate = r.abort(n, "during")
	if r.s.MaxInFlight() > 1 {
		of := r.inFlight[0]
		out.outputOf = &of
	}
	r.inFlight = r.inFlight[1:]
	out.tokensOut, out.finished = map[string]int{}, map[string]string{}
	for _, o := range r.s.Complete() {
		name := r.names[o.ID]
		out.tokensOut[name]++
		if o.Finish != Unfinished {
			out.finished[name] = o.Finish.String()
		}
	}
	now, before := r.s.PrefixStats(), r.prefix
	r.prefix = now
	out.prefix = map[string]int{
		"requests":           int(now.New.Requests - before.New.Requests),
		"queries":            int(now.New.Queries - before.New.Queries),
		"hits":               int(now.New.Hits - before.New.Hits),
		"preempted_requests": int(now.Preempted.Requests - before.Preempted.Requests),
		"preempted_queries":  int(now.Preempted.Queries - before.Preempted.Queries),
		"preempted_hits":     int(now.Preempted.Hits - before.Preempted.Hits),
	}
}

func (r *replay) tellEnd(out *traceStep) {
	free, running, waiting := r.s.FreeBlocks(), r.s.NumRunning(), r.s.NumWaiting()
	out.free, out.nRunning, out.nWaiting = &free, &running, &waiting
	out.running = r.list(r.s.AppendRunning(nil))
	out.waiting = r.list(r.s.AppendWaiting(nil))
	if len(out.running) != running || len(out.waiting) != waiting {
		r.t.Errorf("%s: %d running and %d waiting, but lists of %d and %d",
			r.scenario.Name, running, waiting, len(out.running), len(out.waiting))
	}
	if r.look == viewBlocks {
		out.freeQueue = ints(r.s.AppendFreeQueue(nil))
		out.registered = ints(r.s.AppendRegistered(nil))
	}
}

func (r *replay) blockTables() map[string][]int {
	tables := map[string][]int{}
	for name, id := range r.ids {
		if table := r.s.AppendBlockTable(nil, id); len(table) > 0 {
			tables[name] = ints(table)
		}
	}
	return tables
}

// visible keeps what the kind of trace shows.
func (r *replay) visible(all traceStep) traceStep {
	switch r.look {
	case viewBlocks:
		return traceStep{step: all.step, tables: all.tables, freeQueue: all.freeQueue, registered: all.registered}
	case viewBig:
		all.runningAfter, all.waitingAfter, all.running, all.waiting = nil, nil, nil, nil
		all.tokensOut = nil
	default:
		all.nRunning, all.nWaiting = nil, nil
	}
	return all
}

// list names ids.
func (r *replay) list(ids []ID) []string {
	names := []string{}
	for _, id := range ids {
		names = append(names, r.names[id])
	}
	return names
}

func ints(ids []int32) []int {
	out := make([]int, len(ids))
	for i, id := range ids {
		out[i] = int(id)
	}
	return out
}
