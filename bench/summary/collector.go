package summary

import (
	"fmt"
	"maps"
	"slices"

	"llmsim-bench/bench/record"
	"llmsim-bench/internal/hist"
	"llmsim-bench/internal/wire"
)

// A Collector gathers the records of one load point. It is not safe for
// concurrent use.
type Collector struct {
	values map[string][]int64        // ns, by name of a per-request metric
	events map[string]*hist.Duration // by name of a per-event metric
	delays map[string][]int64        // ns, beside the values of a headline metric

	completions []completion      // of every phase
	tally       record.Accounting // what the measured records say; no scheduled, no running
	examples    map[string]string
	flags       map[string]int64

	promptMismatches int64
	tokensFromEvents int64
	tokensEstimated  int64
}

type completion struct {
	end    record.Instant
	tokens int
}

// NewCollector returns an empty Collector.
func NewCollector() *Collector {
	c := &Collector{
		values:   make(map[string][]int64),
		events:   make(map[string]*hist.Duration),
		delays:   map[string][]int64{TTFT: nil, E2E: nil},
		examples: make(map[string]string),
		flags:    make(map[string]int64),
	}
	for _, name := range perEvent {
		c.events[name] = hist.NewDuration()
	}
	return c
}

// Add takes one record of any phase and keeps nothing of it.
func (c *Collector) Add(r *record.Request) {
	if r.Outcome == record.OK {
		c.completions = append(c.completions, completion{r.End, r.OutputTokens})
	}
	if r.Phase != record.PhaseMeasure {
		return
	}
	c.count(r)
	for _, d := range perRequest {
		if r.Outcome != record.OK && !d.anyOutcome {
			continue
		}
		ns, defined := d.value(r)
		if !defined {
			continue
		}
		c.values[d.name] = append(c.values[d.name], ns)
		if delays, headline := c.delays[d.name]; headline {
			c.delays[d.name] = append(delays, clientDelay(r))
		}
	}
	if r.Outcome == record.OK {
		eachGap(r.Events,
			func(ns int64) { c.events[ChunkGap].Record(ns, 1) },
			c.events[ITL].Record)
	}
}

// count adds the record to everything that is a number of requests.
func (c *Collector) count(r *record.Request) {
	switch r.Outcome {
	case record.OK:
		c.tally.OK++
	case record.Failed:
		c.tally.Failed++
		if c.examples[r.Kind] == "" && r.Error != "" {
			c.examples[r.Kind] = r.Error
		}
		return
	case record.Cancelled:
		c.tally.Cancelled++
		return
	case record.Dropped:
		c.tally.Dropped++
		return
	}
	for _, flag := range r.Flags {
		c.flags[flag]++
	}
	if r.PromptTokens != 0 && r.PromptTokensAsked != 0 && r.PromptTokens != r.PromptTokensAsked {
		c.promptMismatches++
	}
	if r.OutputTokensFrom == record.FromEvents {
		c.tokensFromEvents++
	}
	if r.TokensEstimated {
		c.tokensEstimated++
	}
}

// Observed returns the values of TTFT or E2E, one per measured ok request that
// has it, and beside each, at the same index, what the client itself added to
// it: (dispatch − sched) + (sent − conn). Both are nanoseconds and the caller's
// to keep. Other metrics have none.
func (c *Collector) Observed(metric string) (observedNS, clientDelayNS []int64) {
	delays, headline := c.delays[metric]
	if !headline {
		return nil, nil
	}
	return slices.Clone(c.values[metric]), slices.Clone(delays)
}

// Conditions are what the records can't say about their load point.
type Conditions struct {
	OfferedRPS  float64 // open loop: the planned rate; 0 in a closed loop
	Concurrency int     // closed loop: requests kept in flight; 0 in an open loop
	// Start and End bound the measured window. End is the planned one, or the
	// moment the run was cut short.
	Start, End record.Instant
	Accounting record.Accounting
}

// Point summarises what was added. It fails where the window has no length: a
// point that was not measured has no summary.
func (c *Collector) Point(under Conditions) (Point, error) {
	if under.End <= under.Start {
		return Point{}, fmt.Errorf("load point of %d requests: the measured window ends at %d ns and starts at %d ns; it must end after its start",
			under.Accounting.Scheduled, under.End, under.Start)
	}
	seconds := float64(under.End-under.Start) / 1e9
	p := Point{
		OfferedRPS: under.OfferedRPS, Concurrency: under.Concurrency, DurationS: seconds,
		Accounting:      under.Accounting,
		FailureExamples: maps.Clone(c.examples), Flags: maps.Clone(c.flags),
		PromptTokenMismatches: c.promptMismatches,
		TokensFromEvents:      c.tokensFromEvents,
		TokensEstimated:       c.tokensEstimated,
		Metrics:               make(map[string]wire.Columns),
		Histograms:            make(map[string]string),
	}
	p.AchievedRPS, p.OutputTokensPerS = c.throughput(under.Start, under.End, seconds)
	if err := c.summarise(&p); err != nil {
		return Point{}, err
	}
	if note := disagreement(c.tally, under.Accounting); note != "" {
		p.Notes = append(p.Notes, note)
	}
	return p, nil
}

// throughput implements what Point.AchievedRPS and OutputTokensPerS promise.
func (c *Collector) throughput(start, end record.Instant, seconds float64) (rps, tokensPerS float64) {
	for _, done := range c.completions {
		if done.end >= start && done.end < end {
			rps++
			tokensPerS += float64(done.tokens)
		}
	}
	return rps / seconds, tokensPerS / seconds
}

// summarise fills the client columns and the histograms.
func (c *Collector) summarise(p *Point) error {
	add := func(name string, stats hist.Stats, h *hist.Duration) error {
		encoded, err := h.Encode()
		if err != nil {
			return fmt.Errorf("metric %s: %w", name, err)
		}
		p.Metrics[name] = wire.Columns{Client: &stats}
		p.Histograms[name] = encoded
		return nil
	}
	for name, values := range c.values {
		h := hist.NewDuration()
		for _, ns := range values {
			h.Record(ns, 1)
		}
		// The order of the values pairs them with their delays: sort a copy.
		if err := add(name, hist.StatsOf(slices.Clone(values)), h); err != nil {
			return err
		}
	}
	for name, h := range c.events {
		if h.Count() == 0 {
			continue
		}
		if err := add(name, h.Stats(), h); err != nil {
			return err
		}
	}
	return nil
}
