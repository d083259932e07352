package bench

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"llmsim-bench/bench/arrival"
	"llmsim-bench/bench/load"
	"llmsim-bench/bench/workload"
)

// Workload says which requests come when. It holds for a server as for the
// simulation of one in virtual time: the same Workload has the same arrivals.
type Workload struct {
	// Loads come one after the other.
	Loads []Load
	// Warmup comes before the measured Duration of each load, without a break.
	Duration, Warmup time.Duration
	// Shape says what requests look like, but for a load with a Trace. Prompts are
	// distinct past a shared prefix, and of exactly their length by the server's
	// own count.
	Shape workload.Shape
	// Seed draws arrivals, lengths and prompts.
	Seed uint64
}

// Load is one load point: an open loop with Arrivals, or a closed loop of
// Concurrency users that each send the next request when the last ended and Think
// has passed.
type Load struct {
	Arrivals    arrival.Process `json:"arrivals,omitzero"`
	Concurrency int             `json:"concurrency,omitzero"`
	Think       time.Duration   `json:"think_ns,omitzero"`
	// Trace says what the requests of arrivals of arrival.KindTrace look like.
	Trace *workload.Recording `json:"trace,omitempty"`
}

// AtRate is the load of Poisson arrivals at a rate, in requests a second.
func AtRate(rps float64) Load { return Load{Arrivals: arrival.Process{Rate: rps}} }

// Users is the load of a closed loop.
func Users(n int) Load { return Load{Concurrency: n} }

func (l Load) String() string {
	switch {
	case l.Concurrency > 0:
		return strconv.Itoa(l.Concurrency) + " at once"
	case l.isPlain():
		return "rate " + strconv.FormatFloat(l.Arrivals.Rate, 'g', -1, 64) + "/s"
	}
	return l.Arrivals.String()
}

// isPlain reports whether a rate or a concurrency says all of the load.
func (l Load) isPlain() bool {
	return l.Concurrency > 0 && l.Think == 0 || l.Concurrency == 0 && l.Arrivals.Kind == arrival.KindPoisson
}

// Description describes the load where its rate or concurrency does not say it
// all, and is empty where it does.
func (l Load) Description() string {
	switch {
	case l.isPlain():
		return ""
	case l.Concurrency > 0:
		return fmt.Sprintf("%d at once, thinking %v", l.Concurrency, l.Think)
	}
	return l.Arrivals.String()
}

// OfferedRPS is the planned rate of a load in the measured window, in requests a
// second; 0 in a closed loop.
func (w *Workload) OfferedRPS(l Load) float64 {
	if l.Concurrency > 0 {
		return 0
	}
	return l.Arrivals.MeanRate(w.Warmup, w.Window().End(), w.Window().End())
}

// PeakRPS is the highest rate that a load comes to, in requests a second; 0 in a
// closed loop.
func (w *Workload) PeakRPS(l Load) float64 {
	if l.Concurrency > 0 {
		return 0
	}
	return l.Arrivals.PeakRate()
}

// OutputTokens is the mean number of tokens that requests of a load ask for.
func (w *Workload) OutputTokens(l Load) float64 {
	if l.Trace != nil {
		return l.Trace.MeanOutput()
	}
	return w.Shape.Output.Mean()
}

// Limits of a workload, so that a mistyped number is refused instead of filling
// the memory.
const (
	maxConcurrency = 1 << 20
	maxRequests    = 1e9
	maxTime        = 30 * 24 * time.Hour
)

// Check returns an error that names every value that is not possible.
func (w *Workload) Check() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if len(w.Loads) == 0 {
		bad("there is no load, must be at least one rate or concurrency")
	}
	synthetic := false
	for i := range w.Loads {
		l := &w.Loads[i]
		synthetic = synthetic || l.Trace == nil
		if err := w.checkLoad(l); err != nil {
			errs = append(errs, err)
		}
	}
	if w.Duration <= 0 || w.Duration > maxTime {
		bad("duration %v is not possible, must be above 0 and at most %v", w.Duration, maxTime)
	}
	if w.Warmup < 0 || w.Warmup > maxTime {
		bad("warm-up %v is not possible, must be 0 to %v", w.Warmup, maxTime)
	}
	if synthetic {
		errs = append(errs, w.Shape.Check())
	}
	return errors.Join(errs...)
}

func (w *Workload) checkLoad(l *Load) error {
	switch {
	case l.Concurrency < 0 || l.Concurrency > maxConcurrency:
		return fmt.Errorf("concurrency %d is not possible, must be 1 to %d", l.Concurrency, maxConcurrency)
	case l.Think < 0 || l.Think > maxTime:
		return fmt.Errorf("a think time of %v is not possible, must be 0 to %v", l.Think, maxTime)
	case l.Concurrency > 0 && (l.Arrivals.Kind != arrival.KindPoisson || l.Arrivals.Rate != 0):
		return fmt.Errorf("a load has arrivals, %v, and a concurrency, %d; must be one of them", &l.Arrivals, l.Concurrency)
	case l.Concurrency > 0:
		return nil
	case l.Think != 0:
		return fmt.Errorf("a think time of %v is not possible in an open loop, only in a closed one", l.Think)
	case (l.Arrivals.Kind == arrival.KindTrace) != (l.Trace != nil):
		return errors.New("the arrivals of a trace need its requests too, and other arrivals can't have them")
	}
	if err := l.Arrivals.Check(); err != nil {
		return err
	}
	total := min(w.Warmup, maxTime) + min(w.Duration, maxTime) // longer ones are refused apart
	if l.Arrivals.HasRate() && l.Arrivals.Rate*total.Seconds() > maxRequests {
		return fmt.Errorf("%v for %v is more than %v requests", &l.Arrivals, total, float64(maxRequests))
	}
	return nil
}

// longest returns the most tokens of a prompt and of an answer.
func (w *Workload) longest() (prompt, output int) {
	prompt, output = w.Shape.Prompt.Max, w.Shape.Output.Max // 0 where every load has a trace
	for i := range w.Loads {
		if trace := w.Loads[i].Trace; trace != nil {
			prompt, output = max(prompt, trace.Prompts().Max), max(output, trace.Outputs().Max)
		}
	}
	return prompt, output
}

// Window is the time of each load.
func (w *Workload) Window() load.Window { return load.Window{Warmup: w.Warmup, Measure: w.Duration} }

// Requests says what the requests of one load ask of a server that c describes,
// where they are numbered from firstID on.
func (w *Workload) Requests(index int, c workload.Calibration, firstID int64) (load.Workload, error) {
	if trace := w.Loads[index].Trace; trace != nil {
		return workload.NewTrace(w.Seed, c, trace, firstID)
	}
	return workload.NewSynthetic(w.Seed, c, w.Shape)
}

// Source returns the requests of one load, numbered from firstID on.
func (w *Workload) Source(index int, requests load.Workload, firstID int64) (load.Source, error) {
	l := w.Loads[index]
	if l.Concurrency > 0 {
		return load.NewClosed(l.Concurrency, l.Think, w.Window(), requests, firstID)
	}
	schedule, err := l.Arrivals.Schedule(w.Window().End(), w.loadSeed(index))
	if err != nil {
		return nil, err
	}
	return load.NewOpen(schedule, w.Window(), requests, firstID), nil
}

// loadSeed gives each load arrivals of its own.
func (w *Workload) loadSeed(index int) uint64 {
	return w.Seed + uint64(index)*(math.MaxUint64/1_000_003)
}
