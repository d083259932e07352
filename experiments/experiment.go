// Package experiments holds the project's experiments: each is a definition that
// says what is put on which model and what must come out, and why. From it a
// prediction is made and written down, by a formula or in virtual time; then the
// load is put on a live simulator, and the two are set side by side.
//
// It knows how to predict, run and compare, and where the files are. It starts no
// process itself: whoever runs it says how a simulator is started.
package experiments

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"llmsim-bench/bench"
	"llmsim-bench/bench/arrival"
	"llmsim-bench/bench/load"
	"llmsim-bench/bench/workload"
)

// Experiment is one definition.
type Experiment struct {
	ID    string `json:"id"` // E1, E2, …
	Title string `json:"title"`
	// Question is what is asked, Meaning what the answer says to someone who tests a
	// gateway.
	Question string `json:"question"`
	Meaning  string `json:"meaning"`
	// Cases are run one after the other, each on a simulator of its own.
	Cases []Case `json:"cases"`
	// Expect says what must come out of them.
	Expect []Expectation `json:"expect"`
	// Plot is what the experiment's plot shows.
	Plot Plot `json:"-"`
	// Quick is the short variant.
	Quick Quick `json:"-"`
}

// Case is one load on one model.
type Case struct {
	Name  string     `json:"name"`
	Model Model      `json:"model"`
	Load  bench.Load `json:"load"`
	// Trace, if not empty, is what the load's requests look like: lines of CSV with
	// the columns at_s, prompt_tokens and output_tokens. The load is then theirs.
	Trace string         `json:"trace,omitempty"`
	Shape workload.Shape `json:"shape"`
	// Duration is measured, after Warmup, by the wall clock.
	Warmup   time.Duration `json:"warmup_ns"`
	Duration time.Duration `json:"duration_ns"`
	Leave    load.Leave    `json:"leave"`
	// TimeScale is how fast the timeline runs beside the wall clock; 0 is the same
	// as 1.
	TimeScale float64 `json:"time_scale,omitzero"`
}

// Quick is how the short variant differs: the same checks on some of the cases, with
// shorter windows.
type Quick struct {
	// Live says that it is put on a live simulator; else it stays in virtual time.
	Live bool
	// Cases by name; empty: all.
	Cases []string
	// Warmup and Duration, where they are not 0, replace those of the cases.
	Warmup, Duration time.Duration
}

// scale is TimeScale with its default.
func (c *Case) scale() float64 {
	if c.TimeScale == 0 {
		return 1
	}
	return c.TimeScale
}

// workload returns what bench and virtual time take, drawn from a seed. In virtual
// time durations are the timeline's.
func (c *Case) workload(seed uint64) (bench.Workload, error) {
	w := bench.Workload{Duration: c.Duration, Warmup: c.Warmup, Shape: c.Shape, Seed: seed}
	l := c.Load
	if c.Trace != "" {
		recording, err := workload.ReadTrace(strings.NewReader(c.Trace), workload.TraceOptions{})
		if err != nil {
			return w, fmt.Errorf("case %s: %w", c.Name, err)
		}
		l = bench.Load{Arrivals: arrival.Process{Kind: arrival.KindTrace, Times: recording.Times()}, Trace: recording}
	}
	w.Loads = []bench.Load{l}
	return w, nil
}

// All returns the experiments in the order of their numbers.
func All() []Experiment {
	return []Experiment{
		batching(), contextLength(), chunkedPrefill(), admission(), preemption(),
		cancellation(), openLoop(), phaseLocking(), prefixCache(), profiles(),
	}
}

// Select returns the experiments that are named, in the order of their numbers;
// without a name, all.
func Select(ids []string) ([]Experiment, error) {
	all := All()
	if len(ids) == 0 {
		return all, nil
	}
	var known []string
	for i := range all {
		known = append(known, all[i].ID)
	}
	for _, id := range ids {
		if !slices.Contains(known, strings.ToUpper(id)) {
			return nil, fmt.Errorf("there is no experiment %q; there are %s", id, strings.Join(known, ", "))
		}
	}
	return slices.DeleteFunc(all, func(e Experiment) bool {
		return !slices.ContainsFunc(ids, func(id string) bool { return strings.EqualFold(id, e.ID) })
	}), nil
}

// quick returns the short variant.
func (e Experiment) quick() Experiment {
	q := e.Quick
	chosen := func(name string) bool { return len(q.Cases) == 0 || slices.Contains(q.Cases, name) }
	e.Cases = slices.DeleteFunc(slices.Clone(e.Cases), func(c Case) bool { return !chosen(c.Name) })
	for i := range e.Cases {
		c := &e.Cases[i]
		if q.Duration > 0 {
			c.Duration, c.Warmup = q.Duration, q.Warmup
		}
	}
	e.Expect = slices.DeleteFunc(slices.Clone(e.Expect), func(x Expectation) bool {
		return !chosen(x.Case) || x.Over != "" && !chosen(x.Over)
	})
	for i := range e.Expect {
		e.Expect[i].Interval = e.Expect[i].Interval.once()
	}
	return e
}

// find returns a case by its name, nil if there is none.
func (e *Experiment) find(name string) *Case {
	for i := range e.Cases {
		if e.Cases[i].Name == name {
			return &e.Cases[i]
		}
	}
	return nil
}
