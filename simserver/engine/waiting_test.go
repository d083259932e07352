package engine

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"llmsim-bench/internal/sleep"
)

// fullFor asks for a place that must be refused, and returns for how long.
func fullFor(t *testing.T, w *waitingRoom, now time.Duration) time.Duration {
	t.Helper()
	var full *QueueFull
	if err := w.enter(int64(now)); !errors.As(err, &full) {
		t.Fatalf("not refused, but %v", err)
	}
	return full.Wait
}

func fill(t *testing.T, w *waitingRoom, n int, now time.Duration) {
	t.Helper()
	for range n {
		if err := w.enter(int64(now)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWaitIsEstimatedFromTheDrainRate(t *testing.T) {
	w := &waitingRoom{max: 10}
	fill(t, w, 10, 0)
	if got := fullFor(t, w, time.Second); got != 0 {
		t.Errorf("before any request was served: %v, want 0 for unknown", got)
	}
	w.served(5, int64(time.Second))
	fill(t, w, 5, time.Second)
	if got := fullFor(t, w, time.Second); got != 2*time.Second {
		t.Errorf("ten waiting at five a second: %v, want 2s", got)
	}
	// The rate follows: ten a second for a while.
	now := time.Second
	for range 1000 {
		now += 100 * time.Millisecond
		w.served(1, int64(now))
		fill(t, w, 1, now)
	}
	if got := fullFor(t, w, now); got < 950*time.Millisecond || got > 1050*time.Millisecond {
		t.Errorf("ten waiting at ten a second: %v, want about 1s", got)
	}
	// A room that was empty in between starts anew.
	w.served(10, int64(now))
	now += time.Hour
	fill(t, w, 10, now)
	w.served(1, int64(now+time.Second))
	fill(t, w, 1, now+time.Second)
	if got := fullFor(t, w, now+time.Second); got != 10*time.Second {
		t.Errorf("ten waiting at one a second after an hour without: %v, want 10s", got)
	}
}

// Those that got into no step yet are bounded; who is refused, leaves or comes to
// nothing changes nothing for the others.
func TestMaxWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := sleep.NewClock()
		f := &frontier{}
		f.since.Store(nothingOnItsWay)
		loop, config := newTestLoop(t, "article")
		e := NewBatched(BatchedConfig{
			Loop: loop, Scheduler: config, Grace: int64(2 * time.Millisecond), MaxWaiting: 2,
			Clock: clock, Sleeper: sleep.NewPortable(clock), Frontier: f,
		})
		defer e.Close()
		request := func() *Request {
			return &Request{Plan: planOf(8, 3), Arrival: clock.Now(), Outlet: newOutlet(clock)}
		}
		accept := func(want bool) *Request {
			t.Helper()
			r := request()
			switch err := e.Accept(r); {
			case want && err != nil:
				t.Fatal(err)
			case !want && err == nil:
				t.Fatal("accepted past the bound")
			}
			return r
		}

		first := accept(true)
		e.Submit(first)
		time.Sleep(stepTime / 2) // it is in a step, and waits no longer
		leaving, staying := accept(true), accept(true)
		e.Submit(leaving)
		e.Submit(staying)
		accept(false)
		e.Abort(leaving)
		nothing := accept(true)
		accept(false)
		e.Abort(nothing) // never submitted
		last := accept(true)
		e.Submit(last)
		accept(false)
		time.Sleep(stepTime) // the second step has taken both
		e.Abort(accept(true))

		for i, r := range []*Request{first, staying, last} {
			if err := <-r.Outlet.(*outlet).done; err != nil {
				t.Fatal(err)
			}
			got := time.Duration(r.Timelines[0].Due[0]).Round(time.Microsecond)
			if want := stepTime * time.Duration(1+min(i, 1)); got != want {
				t.Errorf("request %d: first token at %v, want %v", i, got, want)
			}
		}
		e.Abort(last) // it has ended: nothing is given back twice
		accept(true)
		accept(true)
		accept(false)
	})
}
