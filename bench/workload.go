package bench

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"llmsim-bench/bench/arrival"
	"llmsim-bench/bench/load"
)

// Workload says which requests come when. It holds for a server as for the
// simulation of one in virtual time: the same Workload has the same arrivals.
type Workload struct {
	// Loads come one after the other.
	Loads []Load
	// Warmup comes before the measured Duration of each load, without a break.
	Duration, Warmup time.Duration
	// PromptTokens and OutputTokens are what each request asks for; prompts are
	// distinct and of exactly so many tokens by the server's own count.
	PromptTokens, OutputTokens int
	// Seed draws arrivals and prompts.
	Seed uint64
}

// Load is one load point: an open loop of Rate requests a second, or a closed
// loop of Concurrency users that each send the next request when the last ended.
type Load struct {
	Rate        float64 `json:"rate,omitzero"`
	Concurrency int     `json:"concurrency,omitzero"`
}

func (l Load) String() string {
	if l.Concurrency > 0 {
		return strconv.Itoa(l.Concurrency) + " at once"
	}
	return "rate " + strconv.FormatFloat(l.Rate, 'g', -1, 64) + "/s"
}

// Limits of a workload, so that a mistyped number is refused instead of filling
// the memory.
const (
	maxRate        = 1e6
	maxConcurrency = 1 << 20
	maxRequests    = 1e9
	maxTokens      = 1 << 24
	maxTime        = 30 * 24 * time.Hour
)

// Check returns an error that names every value that is not possible.
func (w *Workload) Check() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if len(w.Loads) == 0 {
		bad("there is no load, must be at least one rate or concurrency")
	}
	total := min(w.Warmup, maxTime) + min(w.Duration, maxTime) // longer ones are refused below
	for _, l := range w.Loads {
		switch {
		case l.Concurrency != 0 && l.Rate != 0:
			bad("a load has a rate, %v, and a concurrency, %d; must be one of them", l.Rate, l.Concurrency)
		case l.Concurrency < 0 || l.Concurrency > maxConcurrency:
			bad("concurrency %d is not possible, must be 1 to %d", l.Concurrency, maxConcurrency)
		case l.Concurrency > 0:
		case !(l.Rate > 0) || l.Rate > maxRate:
			bad("rate %v is not possible, must be above 0 and at most %v requests a second", l.Rate, float64(maxRate))
		case l.Rate*total.Seconds() > maxRequests:
			bad("rate %v for %v is more than %v requests", l.Rate, total, float64(maxRequests))
		}
	}
	if w.Duration <= 0 || w.Duration > maxTime {
		bad("duration %v is not possible, must be above 0 and at most %v", w.Duration, maxTime)
	}
	if w.Warmup < 0 || w.Warmup > maxTime {
		bad("warm-up %v is not possible, must be 0 to %v", w.Warmup, maxTime)
	}
	if w.PromptTokens < 1 || w.PromptTokens > maxTokens {
		bad("%d prompt tokens are not possible, must be 1 to %d", w.PromptTokens, maxTokens)
	}
	if w.OutputTokens < 1 || w.OutputTokens > maxTokens {
		bad("%d output tokens are not possible, must be 1 to %d", w.OutputTokens, maxTokens)
	}
	return errors.Join(errs...)
}

// Window is the time of each load.
func (w *Workload) Window() load.Window { return load.Window{Warmup: w.Warmup, Measure: w.Duration} }

// Source returns the requests of one load, numbered from firstID on.
func (w *Workload) Source(index int, requests load.Workload, firstID int64) (load.Source, error) {
	l := w.Loads[index]
	if l.Concurrency > 0 {
		return load.NewClosed(l.Concurrency, w.Window(), requests, firstID)
	}
	schedule, err := arrival.Poisson(l.Rate, w.Window().End(), w.loadSeed(index))
	if err != nil {
		return nil, err
	}
	return load.NewOpen(schedule, w.Window(), requests, firstID), nil
}

// loadSeed gives each load arrivals of its own.
func (w *Workload) loadSeed(index int) uint64 {
	return w.Seed + uint64(index)*(math.MaxUint64/1_000_003)
}
