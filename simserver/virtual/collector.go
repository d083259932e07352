package virtual

import (
	"time"

	"llmsim-bench/internal/hist"
	"llmsim-bench/internal/wire"
	"llmsim-bench/simserver/engine"
	"llmsim-bench/simserver/sched"
)

// Collector is an Observer that sums up a run as /metrics/summary does: latencies
// of the measured requests, steps of the whole run.
type Collector struct {
	steps *engine.StepAccount

	requests                     wire.Requests
	outputTokens                 int64
	ttft, tpot, e2e, itl, queued *hist.Exact

	// Most tokens of a step have the same gap: it is recorded when it changes.
	gap, gaps int64
}

// NewCollector returns a Collector for a run on the scheduler. The series of
// steps has a sample for each interval.
func NewCollector(s *sched.Scheduler, every time.Duration) *Collector {
	return &Collector{
		steps: engine.NewStepAccount(s.NumBlocks(), 0, every),
		ttft:  hist.NewExact(), tpot: hist.NewExact(), e2e: hist.NewExact(), itl: hist.NewExact(), queued: hist.NewExact(),
	}
}

// Added implements Observer: it counts what has arrived.
func (c *Collector) Added(_ sched.ID, o *Outcome) {
	if o.Measured {
		c.requests.Received++
	}
}

// Step implements Observer.
func (c *Collector) Step(step *sched.Step, t engine.StepTime, s *sched.Scheduler) {
	c.steps.Step(step, t, s)
}

// Admitted implements Observer.
func (c *Collector) Admitted(o *Outcome) {
	queued := o.Admitted - o.Queued
	c.steps.Admitted(o.Admitted, queued)
	if o.Measured {
		c.queued.Record(queued, 1)
	}
}

// Token implements Observer.
func (c *Collector) Token(o *Outcome, gap int64) {
	if !o.Measured || o.Tokens == 1 {
		return
	}
	if gap != c.gap {
		c.flushGaps()
		c.gap = gap
	}
	c.gaps++
}

func (c *Collector) flushGaps() {
	if c.gaps > 0 {
		c.itl.Record(c.gap, c.gaps)
		c.gaps = 0
	}
}

// Ended implements Observer.
func (c *Collector) Ended(o *Outcome) {
	if !o.Measured {
		return
	}
	c.requests.Completed++
	c.outputTokens += int64(o.Tokens)
	c.ttft.Record(o.First-o.Arrival, 1)
	c.e2e.Record(o.Last-o.Arrival, 1)
	if o.Tokens > 1 {
		c.tpot.Record((o.Last-o.First)/int64(o.Tokens-1), 1)
	}
}

// Left implements Observer. The times of the tokens that came are as real as any;
// others it has none.
func (c *Collector) Left(o *Outcome) {
	if !o.Measured {
		return
	}
	if c.requests.Aborted == nil {
		c.requests.Aborted = make(map[string]int64)
	}
	c.requests.Aborted[AbortedByClient]++
	c.outputTokens += int64(o.Tokens)
}

// AbortedByClient is what wire.Requests.Aborted calls clients that left.
const AbortedByClient = "client_closed"

// Summary returns what was collected.
func (c *Collector) Summary() wire.Model {
	c.flushGaps()
	m := wire.Model{
		Engine: "scheduler", Requests: c.requests, OutputTokens: c.outputTokens,
		Metrics: make(map[string]wire.Columns),
		Steps:   c.steps.Summary(),
	}
	for name, values := range map[string]*hist.Exact{
		"ttft": c.ttft, "tpot": c.tpot, "e2e": c.e2e, "itl": c.itl, "queue": c.queued,
	} {
		if values.Count() > 0 {
			stats := values.Stats()
			m.Metrics[name] = wire.Columns{Simulated: &stats}
		}
	}
	return m
}
