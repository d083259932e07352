package engine

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"llmsim-bench/internal/sleep"
	"llmsim-bench/simserver/plan"
	"llmsim-bench/simserver/sched"
)

// step is how long every step of the tests' model takes: all time is overhead.
const stepTime = 10 * time.Millisecond

func newTestLoop(t *testing.T, profile string) (*Loop, sched.Config) {
	t.Helper()
	c, err := sched.NewConfig(profile)
	if err != nil {
		t.Fatal(err)
	}
	c.NumBlocks, c.MaxModelLen = 100, 1000
	s, err := sched.New(c)
	if err != nil {
		t.Fatal(err)
	}
	cost, err := sched.NewCostModel(
		sched.Hardware{MemoryGiB: 80, BandwidthGBps: 1e6, PeakTFLOPS: 1e6},
		sched.Model{Parameters: 1, BytesPerParameter: 0.5, KVBytesPerToken: 1},
		sched.CostParams{StepOverhead: stepTime},
	)
	if err != nil {
		t.Fatal(err)
	}
	return NewLoop(s, cost), c
}

// frontier is settled unless a request is on its way.
type frontier struct{ since atomic.Int64 }

const nothingOnItsWay = never

func (f *frontier) Settled(at int64) bool { return f.since.Load() > at }

// batchedInFakeTime runs test with a Batched engine in fake time.
func batchedInFakeTime(t *testing.T, profile string, test func(t *testing.T, clock sleep.Clock, e *Batched, f *frontier)) {
	synctest.Test(t, func(t *testing.T) {
		clock := sleep.NewClock()
		f := &frontier{}
		f.since.Store(nothingOnItsWay)
		loop, config := newTestLoop(t, profile)
		e := NewBatched(BatchedConfig{
			Loop: loop, Scheduler: config, Grace: int64(2 * time.Millisecond),
			Clock: clock, Sleeper: sleep.NewPortable(clock), Frontier: f,
		})
		defer e.Close()
		test(t, clock, e, f)
	})
}

func dueAt(r *Request, choice int) []time.Duration {
	var at []time.Duration
	for _, ns := range r.Timelines[choice].Due {
		at = append(at, time.Duration(ns))
	}
	return at
}

func TestBatchedStepsFollowEachOther(t *testing.T) {
	batchedInFakeTime(t, "article", func(t *testing.T, clock sleep.Clock, e *Batched, _ *frontier) {
		time.Sleep(time.Second)
		out := newOutlet(clock)
		r := &Request{Plan: planOf(8, 3), Arrival: clock.Now(), Outlet: out}
		e.Submit(r)
		if err := <-out.done; err != nil {
			t.Fatal(err)
		}
		want := []time.Duration{time.Second + stepTime, time.Second + 2*stepTime, time.Second + 3*stepTime}
		for i, at := range dueAt(r, 0) {
			if at.Round(time.Microsecond) != want[i] {
				t.Errorf("token %d due at %v, want %v", i, at, want[i])
			}
			if lag := r.Timelines[0].Released[i] - r.Timelines[0].Due[i]; lag != 0 {
				t.Errorf("token %d was %v late", i, time.Duration(lag))
			}
		}
		if r.Queue != 0 {
			t.Errorf("queued for %v on an idle engine", time.Duration(r.Queue))
		}
	})
}

// A request that was received before a Schedule call and is still being parsed
// when the wall clock reaches it gets into that step, as long as the grace lasts.
func TestDecideLate(t *testing.T) {
	for _, c := range []struct {
		name    string
		parsing time.Duration // from the call's place on
		step    int           // that the request gets into
		expired int64
		late    time.Duration // of the decision
	}{
		{"within the grace", time.Millisecond, 1, 0, time.Millisecond},
		{"past the grace", 3 * time.Millisecond, 2, 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			batchedInFakeTime(t, "article", func(t *testing.T, clock sleep.Clock, e *Batched, f *frontier) {
				first := newOutlet(clock)
				e.Submit(&Request{Plan: planOf(8, 10), Outlet: first})
				time.Sleep(stepTime - time.Millisecond)
				out := newOutlet(clock)
				r := &Request{Plan: planOf(8, 1), Arrival: clock.Now(), Outlet: out}
				f.since.Store(r.Arrival)
				time.Sleep(time.Millisecond + c.parsing)
				e.Submit(r)
				f.since.Store(nothingOnItsWay)
				<-out.done
				<-first.done
				want := time.Duration(c.step)*stepTime - time.Duration(r.Arrival)
				if got := time.Duration(r.Queue).Round(time.Microsecond); got != want {
					t.Errorf("queued for %v, want %v", got, want)
				}
				if late := time.Duration(r.QueueServer - r.Queue); late < c.late || late > c.late+DefaultPoll {
					t.Errorf("the decision was %v late, want %v and at most a poll more", late, c.late)
				}
				if late := e.Steps().Late; late.GraceExpired != c.expired || late.Requests != c.expired {
					t.Errorf("%+v, want %d late", late, c.expired)
				}
			})
		})
	}
}

func TestBatchedAbort(t *testing.T) {
	for _, profile := range []string{"article", "vllm-0.23"} {
		batchedInFakeTime(t, profile, func(t *testing.T, clock sleep.Clock, e *Batched, _ *frontier) {
			leaving, staying := newOutlet(clock), newOutlet(clock)
			r := &Request{Plan: planOf(8, 50), Outlet: leaving}
			e.Submit(r)
			e.Submit(&Request{Plan: planOf(8, 10), Outlet: staying})
			time.Sleep(35 * time.Millisecond)
			e.Abort(r)
			if err := <-staying.done; err != nil {
				t.Fatal(err)
			}
			if n := len(leaving.released); n != 3 {
				t.Errorf("%s: the one that left got %d tokens, want 3", profile, n)
			}
			if n := len(staying.released); n != 10 {
				t.Errorf("%s: the other got %d tokens, want 10", profile, n)
			}
			e.Close()
			if free := e.loop.Scheduler().FreeBlocks(); free != 100 {
				t.Errorf("%s: %d blocks are free, want all 100", profile, free)
			}
		})
	}
}

func TestBatchedWritesChoicesTogether(t *testing.T) {
	batchedInFakeTime(t, "vllm-0.23", func(t *testing.T, clock sleep.Clock, e *Batched, _ *frontier) {
		out := newOutlet(clock)
		r := &Request{Plan: planOf(8, 2, 4), Outlet: out}
		e.Submit(r)
		<-out.done
		var sizes []int
		for _, rel := range out.released {
			sizes = append(sizes, len(rel.tokens))
		}
		if !slices.Equal(sizes, []int{2, 2, 1, 1}) {
			t.Errorf("tokens a release: %v, want [2 2 1 1]", sizes)
		}
		if n := len(r.Timelines[1].Released); n != 4 {
			t.Errorf("choice 1 has %d released tokens, want 4", n)
		}
	})
}

func TestBatchedFailedReleaseFreesTheRequest(t *testing.T) {
	batchedInFakeTime(t, "article", func(t *testing.T, clock sleep.Clock, e *Batched, _ *frontier) {
		out := newOutlet(clock)
		out.answer = func(n int) Delivery {
			if n == 3 {
				return Overflowed
			}
			return Sent
		}
		e.Submit(&Request{Plan: planOf(8, 10), Outlet: out})
		if err := <-out.done; !errors.Is(err, ErrSlowReader) {
			t.Errorf("ended with %v", err)
		}
		time.Sleep(stepTime)
		e.Close()
		if free := e.loop.Scheduler().FreeBlocks(); free != 100 {
			t.Errorf("%d blocks are free, want all 100", free)
		}
	})
}

func TestBatchedRefusesWhatNeverFits(t *testing.T) {
	batchedInFakeTime(t, "article", func(t *testing.T, _ sleep.Clock, e *Batched, _ *frontier) {
		for _, p := range []*plan.Plan{planOf(1000, 1), planOf(800, 900)} {
			if err := e.Check(p); err == nil {
				t.Errorf("%d prompt and %d output tokens were accepted", len(p.Prompt), p.OutputTokens())
			}
		}
		if err := e.Check(planOf(100, 100)); err != nil {
			t.Error(err)
		}
	})
}

// Whatever an answer ends for, it ends after its last token.
func TestBatchedEndsWithTheAnswer(t *testing.T) {
	for _, reason := range []string{"stop", "length", "tool_calls", "content_filter"} {
		batchedInFakeTime(t, "article", func(t *testing.T, clock sleep.Clock, e *Batched, _ *frontier) {
			out := newOutlet(clock)
			r := &Request{Plan: planOf(8, 3), Outlet: out}
			r.Plan.MaxTokens, r.Plan.Choices[0].FinishReason = 500, reason
			if err := errors.Join(e.Check(r.Plan), e.Accept(r)); err != nil {
				t.Fatal(err)
			}
			e.Submit(r)
			if err := <-out.done; err != nil || len(r.Timelines[0].Released) != 3 {
				t.Errorf("%s: %v after %d tokens", reason, err, len(r.Timelines[0].Released))
			}
		})
	}
}

// Choices find in the cache what the first has put there; only what was there before
// is the request's.
func TestCachedTokensAreTheFirstChoices(t *testing.T) {
	batchedInFakeTime(t, "vllm-0.23", func(t *testing.T, clock sleep.Clock, e *Batched, _ *frontier) {
		for _, want := range []int{0, 32} {
			out := newOutlet(clock)
			r := &Request{Plan: planOf(40, 3, 3), Outlet: out}
			r.Plan.MaxTokens = 3
			if err := e.Accept(r); err != nil {
				t.Fatal(err)
			}
			e.Submit(r)
			if err := <-out.done; err != nil {
				t.Fatal(err)
			}
			first, second := r.Timelines[0], r.Timelines[1]
			if r.CachedTokens != want || first.CachedTokens != want || second.CachedTokens != 32 || second.Queue != r.Queue {
				t.Errorf("%d cached tokens, of the choices %d and %d; want %d, %d and 32", r.CachedTokens, first.CachedTokens, second.CachedTokens, want, want)
			}
		}
	})
}

func TestBatchedRefusesAnEmptyPrompt(t *testing.T) {
	batchedInFakeTime(t, "article", func(t *testing.T, _ sleep.Clock, e *Batched, _ *frontier) {
		if err := e.Check(planOf(0, 1)); err == nil {
			t.Error("a prompt without tokens was taken")
		}
	})
}
