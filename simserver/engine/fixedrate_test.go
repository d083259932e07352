package engine

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"llmsim-bench/internal/sleep"
	"llmsim-bench/simserver/plan"
)

// outlet records what an engine does with it.
type outlet struct {
	clock    Clock
	prepared []plan.TokenEvent // since the last release
	released []release
	answer   func(n int) Delivery // what the n-th release comes to; nil: Sent
	done     chan error
}

type release struct {
	at     int64
	tokens []plan.TokenEvent
}

func newOutlet(clock Clock) *outlet { return &outlet{clock: clock, done: make(chan error, 1)} }

func (o *outlet) Prepare(ev plan.TokenEvent) { o.prepared = append(o.prepared, ev) }

func (o *outlet) Release() (int64, Delivery) {
	at := o.clock.Now()
	o.released = append(o.released, release{at, o.prepared})
	o.prepared = nil
	if o.answer != nil {
		return at, o.answer(len(o.released))
	}
	return at, Sent
}

func (o *outlet) Flush() error   { return nil }
func (o *outlet) Done(err error) { o.done <- err }

// planOf asks for a prompt of n tokens and one choice for each given length.
func planOf(prompt int, outputs ...int) *plan.Plan {
	p := &plan.Plan{Prompt: make([]plan.TokenID, prompt)}
	for _, n := range outputs {
		p.Choices = append(p.Choices, plan.Choice{Tokens: make([]plan.Token, n), FinishReason: "length"})
	}
	return p
}

// simFixed is the built-in model of that name.
var simFixed = FixedRateConfig{Overhead: 2 * time.Millisecond, PrefillTokensPerSecond: 100_000, ITL: 4 * time.Millisecond}

// inFakeTime runs test with a fixed-rate engine in fake time.
func inFakeTime(t *testing.T, test func(t *testing.T, clock Clock, e *FixedRate)) {
	synctest.Test(t, func(t *testing.T) {
		clock := sleep.NewClock()
		e, err := NewFixedRate(simFixed, clock, sleep.NewPortable(clock))
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		test(t, clock, e)
	})
}

func TestFixedRateTimelineIsExact(t *testing.T) {
	inFakeTime(t, func(t *testing.T, clock Clock, e *FixedRate) {
		time.Sleep(time.Second)
		out := newOutlet(clock)
		r := &Request{Plan: planOf(512, 64), Arrival: clock.Now(), Outlet: out}
		e.Submit(r)
		if err := <-out.done; err != nil {
			t.Fatal(err)
		}
		if len(out.released) != 64 {
			t.Fatalf("%d releases, want 64", len(out.released))
		}
		for i, rel := range out.released {
			due := r.Arrival + int64(7120*time.Microsecond) + int64(i)*int64(4*time.Millisecond)
			if got := r.Timelines[0].Due[i]; got != due {
				t.Errorf("token %d due %v after arrival, want %v", i, time.Duration(got-r.Arrival), time.Duration(due-r.Arrival))
			}
			if rel.at != due || r.Timelines[0].Released[i] != due {
				t.Errorf("token %d released %v late", i, time.Duration(rel.at-due))
			}
			if len(rel.tokens) != 1 || rel.tokens[0] != (plan.TokenEvent{Index: i, Due: due}) {
				t.Errorf("release %d: %+v", i, rel.tokens)
			}
		}
	})
}

// A request that was accepted and comes to nothing must take no other one along.
func TestFixedRateAbortBeforeSubmit(t *testing.T) {
	inFakeTime(t, func(t *testing.T, clock Clock, e *FixedRate) {
		out := newOutlet(clock)
		e.Submit(&Request{Plan: planOf(0, 3), Arrival: clock.Now(), Outlet: out})
		time.Sleep(time.Millisecond) // it is in the queue
		nothing := &Request{Plan: planOf(0, 3), Arrival: clock.Now(), Outlet: newOutlet(clock)}
		if err := e.Accept(nothing); err != nil {
			t.Fatal(err)
		}
		e.Abort(nothing)
		if err := <-out.done; err != nil { // one taken along would never end
			t.Error(err)
		}
		if len(out.released) != 3 {
			t.Errorf("the other request has %d of 3 tokens", len(out.released))
		}
	})
}

func TestFixedRateReleasesChoicesTogether(t *testing.T) {
	inFakeTime(t, func(t *testing.T, clock Clock, e *FixedRate) {
		out := newOutlet(clock)
		r := &Request{Plan: planOf(0, 1, 3), Outlet: out}
		e.Submit(r)
		<-out.done
		var sizes []int
		for _, rel := range out.released {
			sizes = append(sizes, len(rel.tokens))
		}
		if !slices.Equal(sizes, []int{2, 1, 1}) {
			t.Errorf("tokens a release: %v, want [2 1 1]", sizes)
		}
		if n := len(r.Timelines[1].Released); n != 3 {
			t.Errorf("choice 1 has %d released tokens, want 3", n)
		}
	})
}

// A late release must not move the tokens after it.
func TestFixedRateLatenessDoesNotAccumulate(t *testing.T) {
	inFakeTime(t, func(t *testing.T, clock Clock, e *FixedRate) {
		out := newOutlet(clock)
		out.answer = func(n int) Delivery {
			if n == 1 {
				time.Sleep(10 * time.Millisecond) // the release path is held up once
			}
			return Sent
		}
		r := &Request{Plan: planOf(0, 8), Outlet: out}
		e.Submit(r)
		<-out.done
		line := r.Timelines[0]
		for i := range 8 {
			if want := int64(2*time.Millisecond) + int64(i)*int64(4*time.Millisecond); line.Due[i] != want {
				t.Errorf("token %d due at %d, want %d", i, line.Due[i], want)
			}
		}
		if lag := line.Released[1] - line.Due[1]; lag != int64(6*time.Millisecond) {
			t.Errorf("token 1 is %v late, want 6ms", time.Duration(lag))
		}
		if lag := line.Released[7] - line.Due[7]; lag != 0 {
			t.Errorf("the last token is %v late, want 0", time.Duration(lag))
		}
	})
}

func TestEqualDueTimesTakeTurns(t *testing.T) {
	inFakeTime(t, func(t *testing.T, clock Clock, e *FixedRate) {
		const streams, tokens = 3, 6
		var order []int
		outs := make([]*outlet, streams)
		for i := range outs {
			outs[i] = newOutlet(clock)
			outs[i].answer = func(int) Delivery { order = append(order, i); return Sent }
			e.Submit(&Request{Plan: planOf(0, tokens), Outlet: outs[i]})
		}
		for _, out := range outs {
			<-out.done
		}
		firsts := make([]int, streams)
		for i := 0; i < len(order); i += streams {
			firsts[order[i]]++
		}
		if !slices.Equal(firsts, []int{2, 2, 2}) {
			t.Errorf("streams were first %v times in %v, want twice each", firsts, order)
		}
	})
}

func TestAbortLetsGoAtOnce(t *testing.T) {
	inFakeTime(t, func(t *testing.T, clock Clock, e *FixedRate) {
		waiting, streaming, other := newOutlet(clock), newOutlet(clock), newOutlet(clock)
		rs := []*Request{
			{Plan: planOf(1_000_000, 4), Outlet: waiting},
			{Plan: planOf(0, 100), Outlet: streaming},
			{Plan: planOf(0, 100), Outlet: other},
		}
		for _, r := range rs {
			e.Submit(r)
		}
		time.Sleep(23 * time.Millisecond) // tokens were due at 2, 6, … 22 ms
		at := clock.Now()
		e.Abort(rs[0])
		e.Abort(rs[1])
		if late := clock.Now() - at; late != 0 {
			t.Errorf("aborting took %v", time.Duration(late))
		}
		if err := <-other.done; err != nil {
			t.Fatal(err)
		}
		if n := len(waiting.released); n != 0 {
			t.Errorf("the waiting request got %d tokens", n)
		}
		if n := len(streaming.released); n != 6 {
			t.Errorf("the streaming request got %d tokens, want 6", n)
		}
		if n := len(other.released); n != 100 {
			t.Errorf("the other request got %d tokens, want 100", n)
		}
		e.Abort(rs[2]) // after its end: nothing to do
	})
}

func TestFailedReleaseEndsTheRequest(t *testing.T) {
	for delivery, want := range map[Delivery]error{Overflowed: ErrSlowReader, Gone: ErrClientGone} {
		inFakeTime(t, func(t *testing.T, clock Clock, e *FixedRate) {
			out := newOutlet(clock)
			out.answer = func(n int) Delivery {
				if n == 3 {
					return delivery
				}
				return Sent
			}
			r := &Request{Plan: planOf(0, 10), Outlet: out}
			e.Submit(r)
			if err := <-out.done; !errors.Is(err, want) {
				t.Errorf("ended with %v, want %v", err, want)
			}
			if n := len(r.Timelines[0].Released); n != 2 {
				t.Errorf("%d tokens count as released, want 2", n)
			}
		})
	}
}

func TestBackpressuredTokensHaveNoMoment(t *testing.T) {
	inFakeTime(t, func(t *testing.T, clock Clock, e *FixedRate) {
		out := newOutlet(clock)
		out.answer = func(n int) Delivery {
			if n == 2 {
				return Backpressured
			}
			return Sent
		}
		r := &Request{Plan: planOf(0, 3), Outlet: out}
		e.Submit(r)
		<-out.done
		line := r.Timelines[0]
		if line.Backpressured != 1 || line.Released[1] != NotDelivered || line.Released[2] != line.Due[2] {
			t.Errorf("%+v", line)
		}
	})
}

func TestFixedRateRefusesImpossibleConfig(t *testing.T) {
	for _, c := range []FixedRateConfig{
		{Overhead: -1, PrefillTokensPerSecond: 1},
		{ITL: -1, PrefillTokensPerSecond: 1},
		{PrefillTokensPerSecond: 0},
	} {
		if e, err := NewFixedRate(c, sleep.NewClock(), nil); err == nil {
			e.Close()
			t.Errorf("%+v was accepted", c)
		}
	}
}

func TestInstantSaysAllAtArrival(t *testing.T) {
	out := newOutlet(sleep.NewClock())
	r := &Request{Plan: planOf(10, 100), Arrival: 42, Outlet: out}
	Instant{}.Submit(r)
	if err := <-out.done; err != nil {
		t.Fatal(err)
	}
	line := r.Timelines[0]
	if len(line.Due) != 100 || len(line.Released) != 100 {
		t.Fatalf("%d due, %d released, want 100 each", len(line.Due), len(line.Released))
	}
	for i, due := range line.Due {
		if due != 42 {
			t.Errorf("token %d due at %d, want 42", i, due)
		}
	}
}
