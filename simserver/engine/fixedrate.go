package engine

import (
	"fmt"
	"math"
	"time"

	"llmsim-bench/internal/sleep"
	"llmsim-bench/simserver/plan"
)

// FixedRateConfig describes a server without queues: every request is served as
// if it were alone.
type FixedRateConfig struct {
	// Overhead is added to every request's time to first token.
	Overhead time.Duration
	// PrefillTokensPerSecond is how fast a prompt is read.
	PrefillTokensPerSecond float64
	// ITL is the time between two tokens.
	ITL time.Duration
	// Rest is how long the engine sleeps at least between two releases, in ns of
	// its clock; 0: DefaultRest.
	Rest int64
}

// FixedRate serves each request on a timeline of its own, known at its arrival:
// token i is due at arrival + Overhead + prompt tokens ÷ PrefillTokensPerSecond
// + i · ITL. Load changes nothing about it.
type FixedRate struct {
	config FixedRateConfig
	pacer  *pacer
}

// NewFixedRate starts the engine; the sleeper is its own from now on.
func NewFixedRate(config FixedRateConfig, clock Clock, sleeper sleep.Sleeper) (*FixedRate, error) {
	switch {
	case config.Overhead < 0:
		return nil, fmt.Errorf("fixed rate: overhead %v is negative", config.Overhead)
	case config.ITL < 0:
		return nil, fmt.Errorf("fixed rate: time between tokens %v is negative", config.ITL)
	case !(config.PrefillTokensPerSecond > 0):
		return nil, fmt.Errorf("fixed rate: %v prompt tokens per second, must be above 0", config.PrefillTokensPerSecond)
	}
	if config.Rest == 0 {
		config.Rest = DefaultRest
	}
	return &FixedRate{config: config, pacer: newPacer(clock, sleeper, config.Rest)}, nil
}

// TTFT is the simulated time from arrival to first token.
func (f *FixedRate) TTFT(promptTokens int) time.Duration {
	prefill := float64(promptTokens) * 1e9 / f.config.PrefillTokensPerSecond
	return f.config.Overhead + time.Duration(math.Round(prefill))
}

// Check implements Engine: every plan can be carried out.
func (*FixedRate) Check(*plan.Plan) error { return nil }

// Accept implements Engine: nobody waits.
func (*FixedRate) Accept(r *Request) error {
	r.entry.index = absent // it may be aborted before it is submitted
	return nil
}

// Submit implements Engine.
func (f *FixedRate) Submit(r *Request) {
	r.begin()
	run := &fixedRateRun{
		request: r,
		first:   r.Arrival + int64(f.TTFT(len(r.Plan.Prompt))),
		itl:     int64(f.config.ITL),
	}
	r.entry.task = run
	due, more := run.prepare()
	if !more {
		return
	}
	r.entry.due = due
	f.pacer.add(&r.entry)
}

// Abort implements Engine.
func (f *FixedRate) Abort(r *Request) { f.pacer.remove(&r.entry) }

// Close implements Engine.
func (f *FixedRate) Close() { f.pacer.close() }

// fixedRateRun is a request's way through the pacer: at tick i, token i of
// every choice that has one is due.
type fixedRateRun struct {
	request    *Request
	first, itl int64
	tick       int
	failed     error
}

// fire implements task.
func (f *fixedRateRun) fire() { f.failed = f.request.release() }

// prepare implements task: it renders the next tick's tokens, or ends the request.
func (f *fixedRateRun) prepare() (due int64, more bool) {
	due = f.first + int64(f.tick)*f.itl
	if f.failed == nil {
		for i := range f.request.Plan.Choices {
			if f.tick < len(f.request.Plan.Choices[i].Tokens) {
				f.request.prepare(i, due)
				more = true
			}
		}
		f.tick++
	}
	if !more {
		f.request.Outlet.Done(f.failed)
	}
	return due, more
}
