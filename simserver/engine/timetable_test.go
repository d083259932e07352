package engine

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"llmsim-bench/internal/sleep"
	"llmsim-bench/simserver/plan"
)

// timedPlan has a choice for each list of offsets.
func timedPlan(offsets ...[]int64) *plan.Plan {
	p := &plan.Plan{Prompt: make([]plan.TokenID, 3)}
	for _, o := range offsets {
		p.Choices = append(p.Choices, plan.Choice{Tokens: make([]plan.Token, len(o)), Offsets: o, FinishReason: "stop"})
	}
	return p
}

// refusing is an engine that must not be reached.
type refusing struct{ Engine }

func (refusing) Check(*plan.Plan) error { return errors.New("reached") }
func (refusing) Accept(*Request) error  { return errors.New("reached") }

func onTimetable(t *testing.T, scale float64, test func(t *testing.T, clock Clock, table *Timetable)) {
	synctest.Test(t, func(t *testing.T) {
		clock := ScaledClock{Wall: sleep.NewClock(), Scale: scale}
		table := NewTimetable(clock, clock.Sleeper(sleep.NewPortable(clock.Wall)), 0)
		defer table.Close()
		test(t, clock, table)
	})
}

// serve takes a request through Check, Accept and Submit.
func serve(t *testing.T, e Engine, r *Request) {
	t.Helper()
	if err := errors.Join(e.Check(r.Plan), e.Accept(r)); err != nil {
		t.Fatal(err)
	}
	e.Submit(r)
}

func TestTimetableIsExact(t *testing.T) {
	for _, scale := range []float64{1, 4} {
		onTimetable(t, scale, func(t *testing.T, clock Clock, table *Timetable) {
			time.Sleep(time.Second)
			ms := int64(time.Millisecond)
			r := &Request{Plan: timedPlan([]int64{0, 7 * ms, 7 * ms, 40 * ms}, []int64{7 * ms, 20 * ms}), Arrival: clock.Now()}
			out := newOutlet(clock)
			r.Outlet = out
			serve(t, table.Before(refusing{}), r)
			if err := <-out.done; err != nil {
				t.Fatal(err)
			}
			event := func(choice, index int, at int64) plan.TokenEvent {
				return plan.TokenEvent{Choice: choice, Index: index, Due: r.Arrival + at}
			}
			want := []release{
				{r.Arrival, []plan.TokenEvent{event(0, 0, 0)}},
				{r.Arrival + 7*ms, []plan.TokenEvent{event(0, 1, 7*ms), event(0, 2, 7*ms), event(1, 0, 7*ms)}},
				{r.Arrival + 20*ms, []plan.TokenEvent{event(1, 1, 20*ms)}},
				{r.Arrival + 40*ms, []plan.TokenEvent{event(0, 3, 40*ms)}},
			}
			if !slices.EqualFunc(out.released, want, func(a, b release) bool { return a.at == b.at && slices.Equal(a.tokens, b.tokens) }) {
				t.Errorf("scale %v: released %v, want %v", scale, out.released, want)
			}
			if r.Queue != NotDelivered || r.Timelines[0].Released[3] != r.Arrival+40*ms {
				t.Errorf("queue %d, timelines %+v", r.Queue, r.Timelines)
			}
		})
	}
}

// Whatever the offsets, every token is due at its own, and a plan whose tokens all
// came is done.
func TestTimetableKeepsEveryOffset(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all [][]int64
		for range rapid.IntRange(1, 3).Draw(t, "choices") {
			gaps := rapid.SliceOfN(rapid.SampledFrom([]int64{0, 0, 0, 1, 1_000_000, 30_000_000}), 1, 100).Draw(t, "gaps")
			for i := range gaps[1:] {
				gaps[i+1] += gaps[i]
			}
			all = append(all, gaps)
		}
		out := newOutlet(sleep.NewClock())
		r := &Request{Plan: timedPlan(all...), Arrival: 5, Outlet: out}
		r.begin()
		run := &timetableRun{request: r}
		last := int64(0)
		for due, more := run.prepare(); more; due, more = run.prepare() {
			if due < last || len(out.prepared) > timetableBatch {
				t.Fatalf("%d tokens at %d, after %d", len(out.prepared), due, last)
			}
			last = due
			run.fire()
		}
		if err := <-out.done; err != nil {
			t.Fatal(err)
		}
		for i, line := range r.Timelines {
			if len(line.Released) != len(all[i]) {
				t.Fatalf("choice %d: %d tokens released, want %d", i, len(line.Released), len(all[i]))
			}
			for j, due := range line.Due {
				if due != 5+all[i][j] {
					t.Fatalf("choice %d token %d is due at %d, want %d", i, j, due, 5+all[i][j])
				}
			}
		}
	})
}

// Many tokens of one moment come in several releases, each due then.
func TestTimetableBoundsARelease(t *testing.T) {
	onTimetable(t, 1, func(t *testing.T, clock Clock, table *Timetable) {
		out := newOutlet(clock)
		r := &Request{Plan: timedPlan(make([]int64, 3*timetableBatch), make([]int64, 1)), Outlet: out}
		serve(t, table.Before(refusing{}), r)
		if err := <-out.done; err != nil {
			t.Fatal(err)
		}
		var sizes []int
		for _, rel := range out.released {
			sizes = append(sizes, len(rel.tokens))
		}
		if !slices.Equal(sizes, []int{timetableBatch, timetableBatch, timetableBatch, 1}) || slices.Max(r.Timelines[0].Due) != 0 {
			t.Errorf("releases of %v tokens, the last due at %d", sizes, slices.Max(r.Timelines[0].Due))
		}
	})
}

func TestTimetableLeavesOtherPlansAlone(t *testing.T) {
	onTimetable(t, 1, func(t *testing.T, clock Clock, table *Timetable) {
		fixed, err := NewFixedRate(simFixed, clock, sleep.NewPortable(clock.(ScaledClock).Wall))
		if err != nil {
			t.Fatal(err)
		}
		e := table.Before(fixed)
		defer e.Close()
		out := newOutlet(clock)
		r := &Request{Plan: planOf(0, 2), Outlet: out}
		serve(t, e, r)
		if err := <-out.done; err != nil || r.Timelines[0].Due[1] != int64(6*time.Millisecond) {
			t.Errorf("%v, due %v", err, r.Timelines[0].Due)
		}
		gone := &Request{Plan: planOf(0, 1000), Outlet: newOutlet(clock)}
		serve(t, e, gone)
		e.Abort(gone)
		if err := e.Check(planOf(0, 1)); err != nil {
			t.Error(err)
		}
		if e := table.Before(refusing{}); e.Check(planOf(0, 1)) == nil || e.Accept(r) == nil {
			t.Error("a plan without offsets does not reach the engine")
		}
	})
}

func TestTimetableAbort(t *testing.T) {
	onTimetable(t, 1, func(t *testing.T, clock Clock, table *Timetable) {
		e := table.Before(refusing{})
		outs := [3]*outlet{newOutlet(clock), newOutlet(clock), newOutlet(clock)}
		never := &Request{Plan: timedPlan([]int64{0}), Outlet: outs[0]}
		if err := e.Accept(never); err != nil {
			t.Fatal(err)
		}
		e.Abort(never)
		s := int64(time.Second)
		leaves := &Request{Plan: timedPlan([]int64{s, 2 * s, 3 * s}), Outlet: outs[1]}
		stays := &Request{Plan: timedPlan([]int64{s, 2 * s, 3 * s}), Outlet: outs[2]}
		serve(t, e, leaves)
		serve(t, e, stays)
		time.Sleep(2500 * time.Millisecond)
		e.Abort(leaves)
		if err := <-outs[2].done; err != nil {
			t.Fatal(err)
		}
		for i, want := range []int{0, 2, 3} {
			if got := len(outs[i].released); got != want {
				t.Errorf("request %d has %d releases, want %d", i, got, want)
			}
		}
	})
}

func TestTimetableEndsAFailedRequest(t *testing.T) {
	onTimetable(t, 1, func(t *testing.T, clock Clock, table *Timetable) {
		out := newOutlet(clock)
		out.answer = func(n int) Delivery {
			if n == 2 {
				return Overflowed
			}
			return Sent
		}
		serve(t, table.Before(refusing{}), &Request{Plan: timedPlan([]int64{0, 1, 2}), Outlet: out})
		if err := <-out.done; !errors.Is(err, ErrSlowReader) || len(out.released) != 2 {
			t.Errorf("%v after %d releases", err, len(out.released))
		}
	})
}

func TestTimetableChecksOffsets(t *testing.T) {
	e := (&Timetable{}).Before(refusing{})
	short := timedPlan([]int64{0, 1}, []int64{0})
	short.Choices[1].Tokens = nil
	for want, p := range map[string]*plan.Plan{
		"choice 1 has 0 tokens and 1 offsets":                      short,
		"token 0 is due -1 ns":                                     timedPlan([]int64{-1}),
		"token 2 is due 4 ns after the arrival, must be 5 or more": timedPlan([]int64{0, 5, 4}),
	} {
		if err := e.Check(p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestTimetableAllocatesNothingPerToken(t *testing.T) {
	const tokens = 10_000
	r := &Request{Plan: timedPlan(make([]int64, tokens)), Outlet: discard{}}
	for i := range tokens {
		r.Plan.Choices[0].Offsets[i] = int64(i)
	}
	r.begin()
	run := &timetableRun{request: r}
	if n := testing.AllocsPerRun(tokens-10, func() { run.prepare(); run.fire() }); n != 0 {
		t.Errorf("%v allocations a token", n)
	}
}

// discard is an Outlet that keeps nothing.
type discard struct{}

func (discard) Prepare(plan.TokenEvent)    {}
func (discard) Release() (int64, Delivery) { return 0, Sent }
func (discard) Flush() error               { return nil }
func (discard) Done(error)                 {}
