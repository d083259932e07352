package virtual_test

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"llmsim-bench/internal/sleep"
	"llmsim-bench/simserver/engine"
	"llmsim-bench/simserver/plan"
	"llmsim-bench/simserver/sched"
	"llmsim-bench/simserver/virtual"
)

// newLoop is an engine under pressure: a small model on a cache that a dozen of
// the test's requests fill.
func newLoop(t *testing.T, profile string) (*engine.Loop, sched.Config) {
	t.Helper()
	c, err := sched.NewConfig(profile)
	if err != nil {
		t.Fatal(err)
	}
	c.NumBlocks, c.MaxModelLen, c.MaxNumSeqs, c.MaxNumBatchedTokens = 120, 1000, 24, 256
	s, err := sched.New(c)
	if err != nil {
		t.Fatal(err)
	}
	h := sched.Hardware{MemoryGiB: 80, BandwidthGBps: 3000, PeakTFLOPS: 989}
	m := sched.Model{Parameters: 6_740_000_000, BytesPerParameter: 2, KVBytesPerToken: 524288}
	cost, err := sched.NewCostModel(h, m, sched.CostParams{})
	if err != nil {
		t.Fatal(err)
	}
	return engine.NewLoop(s, cost), c
}

// eventLog keeps what an engine acts on, as events for a replay.
type eventLog struct {
	mu     sync.Mutex
	events []virtual.Event
}

func (l *eventLog) Arrived(turn int64, r *engine.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	prompt := make([]uint32, len(r.Plan.Prompt))
	for i, id := range r.Plan.Prompt {
		prompt[i] = uint32(id)
	}
	outputs := make([]uint32, len(r.Plan.Choices[0].Tokens))
	for i, token := range r.Plan.Choices[0].Tokens {
		outputs[i] = uint32(token.ID)
	}
	l.events = append(l.events, virtual.Event{Turn: turn, Request: virtual.Request{
		ID: int64(r.Serial()), Arrival: r.Arrival,
		Request: sched.Request{Prompt: prompt, Output: outputs, MaxTokens: r.Plan.MaxTokens, ArrivalNS: r.Arrival},
	}})
}

func (l *eventLog) Aborted(turn int64, r *engine.Request, _ int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, virtual.Event{Turn: turn, Aborted: true, ID: int64(r.Serial())})
}

func (l *eventLog) Ended(*engine.Request, bool) {}

// client is one request's outlet; it may leave after some tokens or some time.
type client struct {
	clock    sleep.Clock
	releases int
	leaveAt  int           // tokens; 0: stays
	left     chan struct{} // closed when leaveAt is reached
	done     chan error
}

func (c *client) Prepare(plan.TokenEvent) {}

func (c *client) Release() (int64, engine.Delivery) {
	if c.releases++; c.releases == c.leaveAt {
		close(c.left)
	}
	return c.clock.Now(), engine.Sent
}

func (c *client) Flush() error   { return nil }
func (c *client) Done(err error) { c.done <- err }

// busyFrontier is unsettled every now and then, for longer than any grace.
type busyFrontier struct {
	clock sleep.Clock
}

func (f busyFrontier) Settled(int64) bool { return f.clock.Now()/int64(time.Millisecond)%7 > 2 }

// watcher keeps the outcomes and token times of a replay.
type watcher struct {
	tokens map[int64][]int64
	out    map[int64]virtual.Outcome
	steps  int
	preempted,
	cached int
}

func (w *watcher) Added(sched.ID, *virtual.Outcome) {}
func (w *watcher) Step(step *sched.Step, _ engine.StepTime, _ *sched.Scheduler) {
	w.steps++
	w.preempted += len(step.Preempted)
}

func (w *watcher) Admitted(o *virtual.Outcome) {
	w.cached += o.Cached
	w.out[o.ID] = *o
}

func (w *watcher) Token(o *virtual.Outcome, _ int64) { w.tokens[o.ID] = append(w.tokens[o.ID], o.Last) }
func (w *watcher) Ended(o *virtual.Outcome)          { w.out[o.ID] = *o }
func (w *watcher) Left(o *virtual.Outcome)           { w.out[o.ID] = *o }

// A live run's effective log, replayed in virtual time, gives every request's
// times to the nanosecond: with prefix hits, preemptions, clients that leave
// while they wait and while they stream, and decisions that could not wait.
func TestLiveEqualsVirtual(t *testing.T) {
	for _, profile := range []string{"article", "vllm-0.16", "vllm-0.23", "vllm-2026-08"} {
		t.Run(profile, func(t *testing.T) {
			const requests = 400
			log := &eventLog{}
			live := make([]*engine.Request, requests)
			left := make([]bool, requests)
			synctest.Test(t, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(7, 11))
				clock := sleep.NewClock()
				loop, config := newLoop(t, profile)
				e := engine.NewBatched(engine.BatchedConfig{
					Loop: loop, Scheduler: config, Grace: int64(time.Millisecond),
					Clock: clock, Sleeper: sleep.NewPortable(clock), Frontier: busyFrontier{clock}, Log: log,
				})
				defer e.Close()
				var clients sync.WaitGroup
				for i := range requests {
					time.Sleep(time.Duration(rng.ExpFloat64() * 12e6))
					p := randomPlan(rng, i)
					if err := e.Check(p); err != nil {
						t.Fatal(err)
					}
					c := &client{clock: clock, left: make(chan struct{}), done: make(chan error, 1)}
					leaveAfter := time.Duration(1<<62 - 1)
					switch rng.IntN(8) {
					case 0:
						c.leaveAt = 1 + rng.IntN(5)
					case 1:
						leaveAfter = time.Duration(rng.IntN(30e6))
					}
					live[i] = &engine.Request{Plan: p, Arrival: clock.Now() - int64(rng.IntN(1e6)), Outlet: c}
					e.Submit(live[i])
					clients.Go(func() {
						timer := time.NewTimer(leaveAfter)
						defer timer.Stop()
						select {
						case err := <-c.done:
							if err != nil {
								t.Errorf("request %d: %v", i, err)
							}
							return
						case <-c.left:
						case <-timer.C:
						}
						e.Abort(live[i])
						left[i] = true
					})
				}
				clients.Wait()
				if late := e.Steps().Late; late.GraceExpired == 0 {
					t.Error("no decision was ever late: this run shows nothing of effective places")
				}
			})

			loop, _ := newLoop(t, profile)
			w := &watcher{tokens: map[int64][]int64{}, out: map[int64]virtual.Outcome{}}
			if err := virtual.Replay(loop, 0, log.events, w); err != nil {
				t.Fatal(err)
			}
			if w.preempted == 0 || (profile != "article" && w.cached == 0) {
				t.Errorf("%d preemptions, %d cached tokens: this run shows too little", w.preempted, w.cached)
			}
			gone := 0
			for i, r := range live {
				id := int64(r.Serial())
				times := r.Timelines[0].Due[:len(r.Timelines[0].Released)]
				got := w.tokens[id]
				if left[i] { // a token may have been due that nobody waited for
					gone++
					got = got[:min(len(got), len(times))]
				}
				if !slices.Equal(got, times) {
					t.Fatalf("request %d: live %v, virtual %v", i, times, got)
				}
				if left[i] {
					continue
				}
				o := w.out[id]
				if o.Admitted-o.Queued != r.Queue || o.Preemptions != r.Preemptions || o.Cached != r.CachedTokens {
					t.Errorf("request %d: live queue %d, %d preemptions, %d cached; virtual %d, %d, %d",
						i, r.Queue, r.Preemptions, r.CachedTokens, o.Admitted-o.Queued, o.Preemptions, o.Cached)
				}
			}
			t.Logf("%d requests, %d steps, %d preemptions, %d cached tokens, %d left", requests, w.steps, w.preempted, w.cached, gone)
			if gone == 0 {
				t.Error("nobody left")
			}
		})
	}
}

// randomPlan asks for some of a few shared prefixes, and an own ending.
func randomPlan(rng *rand.Rand, i int) *plan.Plan {
	p := &plan.Plan{}
	prefix := rng.IntN(4)
	for k := range 16 * rng.IntN(8) {
		p.Prompt = append(p.Prompt, plan.TokenID(prefix*1000+k))
	}
	for k := range 1 + rng.IntN(150) {
		p.Prompt = append(p.Prompt, plan.TokenID(1_000_000+i*1000+k))
	}
	n := 1 + rng.IntN(60)
	p.MaxTokens = n
	tokens := make([]plan.Token, n)
	for k := range tokens {
		tokens[k].ID = plan.TokenID(i*1000 + k)
	}
	p.Choices = []plan.Choice{{Tokens: tokens, FinishReason: "length"}}
	return p
}
