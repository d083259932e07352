package virtual_test

import (
	"slices"
	"testing"
	"time"

	"llmsim-bench/simserver/engine"
	"llmsim-bench/simserver/sched"
	"llmsim-bench/simserver/virtual"
)

// list is a source of requests that are known beforehand.
type list struct {
	requests []virtual.Request
	done     map[int64]int64
}

func (l *list) Peek() (int64, bool) {
	if len(l.requests) == 0 {
		return 0, false
	}
	return l.requests[0].Arrival, true
}

func (l *list) Pop() virtual.Request {
	r := l.requests[0]
	l.requests = l.requests[1:]
	return r
}

func (l *list) Done(id, at int64) { l.done[id] = at }

// endings notes how requests end, and the steps of a run.
type endings struct {
	watcher
	left, ended []int64
	ends        []int64 // of steps
	used        []int   // blocks, after each Schedule
	blocks      int
}

func (e *endings) Step(step *sched.Step, t engine.StepTime, s *sched.Scheduler) {
	e.ends = append(e.ends, t.End)
	e.used = append(e.used, e.blocks-s.FreeBlocks())
	e.watcher.Step(step, t, s)
}

func (e *endings) Left(o *virtual.Outcome) { e.left = append(e.left, o.ID); e.out[o.ID] = *o }
func (e *endings) Ended(o *virtual.Outcome) {
	e.ended = append(e.ended, o.ID)
	e.out[o.ID] = *o
}

func request(id int64, prompt, output, leaveAfter int, delay time.Duration) virtual.Request {
	return virtual.Request{
		ID: id, Measured: true, LeaveAfter: leaveAfter, LeaveDelay: delay,
		Request: sched.Request{Prompt: make([]uint32, prompt), Output: make([]uint32, output), MaxTokens: output},
	}
}

func run(t *testing.T, requests ...virtual.Request) (*endings, *list) {
	t.Helper()
	loop, config := newLoop(t, "article")
	source := &list{requests, map[int64]int64{}}
	e := &endings{watcher: watcher{tokens: map[int64][]int64{}, out: map[int64]virtual.Outcome{}}, blocks: config.NumBlocks}
	if err := virtual.Run(loop, 0, source, e); err != nil {
		t.Fatal(err)
	}
	return e, source
}

// A client that leaves frees its blocks in the step after the server has noticed,
// and who waits for them starts then.
func TestAClientThatLeavesMakesRoom(t *testing.T) {
	// The cache holds 120 blocks: one prompt of 1,000 tokens takes 63 of them.
	e, source := run(t, request(1, 950, 50, 3, time.Millisecond), request(2, 950, 50, 0, 0))
	if !slices.Equal(e.left, []int64{1}) || !slices.Equal(e.ended, []int64{2}) {
		t.Fatalf("%v left, %v ended", e.left, e.ended)
	}
	first, second := e.out[1], e.out[2]
	if first.Tokens != 3 {
		t.Errorf("%d tokens for a client that left with 3", first.Tokens)
	}
	if source.done[1] != first.Last {
		t.Errorf("for the client it was over at %d, at %d it left", source.done[1], first.Last)
	}
	// It leaves within a step, whose end is when the place is free.
	i := slices.Index(e.ends, first.Last)
	if want := e.ends[i+1]; second.Admitted != want {
		t.Errorf("the other is admitted at %d, want %d: the end of the step in which the first left", second.Admitted, want)
	}
}

// As long as the server does not know, the answer goes on.
func TestTheServerNoticesLater(t *testing.T) {
	e, _ := run(t, request(1, 10, 50, 3, 20*time.Millisecond)) // steps of 4.5 ms
	if got := e.out[1].Tokens; got != 7 {
		t.Errorf("%d tokens, want 3 and the 4 of 20 ms", got)
	}
}

func TestAnswersThatEndBeforeTheClientLeaves(t *testing.T) {
	e, source := run(t,
		request(1, 10, 5, 5, 0),           // leaves with the last token
		request(2, 10, 5, 9, 0),           // would leave later
		request(3, 10, 5, 4, time.Second), // the server notices when all is over
	)
	if len(e.left) != 0 || len(e.ended) != 3 {
		t.Errorf("%v left, %v ended", e.left, e.ended)
	}
	for id, at := range source.done {
		want := e.tokens[id][4]
		if id == 3 {
			want = e.tokens[id][3]
		}
		if at != want {
			t.Errorf("request %d is over at %d, want %d", id, at, want)
		}
	}
	if len(source.done) != 3 {
		t.Errorf("%v are over", source.done)
	}
}

// A collector counts clients that leave as /metrics/summary does: their tokens and
// the time between them, but no time of a whole answer.
func TestCollectorOfClientsThatLeave(t *testing.T) {
	loop, _ := newLoop(t, "article")
	c := virtual.NewCollector(loop.Scheduler(), 0)
	source := &list{[]virtual.Request{request(1, 10, 50, 3, 0), request(2, 10, 4, 0, 0)}, map[int64]int64{}}
	if err := virtual.Run(loop, 0, source, c); err != nil {
		t.Fatal(err)
	}
	m := c.Summary()
	if m.Requests.Received != 2 || m.Requests.Completed != 1 || m.Requests.Aborted[virtual.AbortedByClient] != 1 {
		t.Errorf("%+v", m.Requests)
	}
	if m.OutputTokens != 7 || m.Metrics["itl"].Simulated.Count != 5 || m.Metrics["queue"].Simulated.Count != 2 {
		t.Errorf("%d tokens, %d gaps, %d queue times", m.OutputTokens, m.Metrics["itl"].Simulated.Count, m.Metrics["queue"].Simulated.Count)
	}
	if m.Metrics["ttft"].Simulated.Count != 1 || m.Metrics["e2e"].Simulated.Count != 1 {
		t.Errorf("%d first and %d last tokens", m.Metrics["ttft"].Simulated.Count, m.Metrics["e2e"].Simulated.Count)
	}
}
