package summary

import (
	"fmt"
	"maps"
	"time"

	"llmsim-bench/bench/record"
	"llmsim-bench/internal/hist"
	"llmsim-bench/internal/wire"
)

// Window bounds the measured part of a load point.
type Window struct{ Start, End record.Instant }

// A Collector gathers the records of one load point, in memory that does not
// grow with their number. It is not safe for concurrent use.
type Collector struct {
	window   Window
	lateness func(from, to record.Instant) time.Duration
	values   map[string]*values        // by name of a per-request metric
	events   map[string]*hist.Duration // by name of a per-event metric
	// undelayed holds the values of the headline metrics less what the client
	// itself may have added.
	undelayed map[string]*hist.Exact

	backlog         *backlogCounter
	completed       int64 // ok, of every phase, that ended inside the window
	completedTokens int64
	ambiguousEvents int64
	sendDelays      [2]int64          // ns, the least and the greatest
	tally           record.Accounting // what the measured records say; no scheduled, no running
	examples        map[string]string
	flags           map[string]int64

	promptMismatches int64
	tokensFromEvents int64
	tokensEstimated  int64
}

// values are those of one metric: for percentiles, exact up to 65,536 distinct
// ones and of valueDigits digits past that, and as a histogram to merge.
type values struct {
	exact     *hist.Exact
	histogram *hist.Duration
}

const valueDigits = 4

// NewCollector returns an empty Collector for a window, which must have a length.
// lateness says by how much the client as a whole was late, at most, between two
// instants; nil: never.
func NewCollector(w Window, lateness func(from, to record.Instant) time.Duration) *Collector {
	if lateness == nil {
		lateness = func(record.Instant, record.Instant) time.Duration { return 0 }
	}
	c := &Collector{
		window:    w,
		lateness:  lateness,
		values:    make(map[string]*values),
		events:    make(map[string]*hist.Duration),
		undelayed: map[string]*hist.Exact{TTFT: hist.NewExactTo(valueDigits), E2E: hist.NewExactTo(valueDigits)},
		backlog:   newBacklogCounter(w.Start, w.End),
		examples:  make(map[string]string),
		flags:     make(map[string]int64),
	}
	for _, name := range perEvent {
		c.events[name] = hist.NewDuration()
	}
	return c
}

// Add takes one record of any phase and keeps nothing of it.
func (c *Collector) Add(r *record.Request) {
	c.backlog.add(r)
	if r.Outcome == record.OK && r.End >= c.window.Start && r.End < c.window.End {
		c.completed++
		c.completedTokens += int64(r.OutputTokens)
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
		if d.name == SendDelay {
			c.noteSendDelay(ns)
		}
		c.addValue(d.name, ns, r)
	}
	if r.Outcome == record.OK {
		c.addEvents(r)
	}
}

func (c *Collector) addValue(metric string, ns int64, r *record.Request) {
	v := c.values[metric]
	if v == nil {
		v = &values{hist.NewExactTo(valueDigits), hist.NewDuration()}
		c.values[metric] = v
	}
	v.exact.Record(ns, 1)
	v.histogram.Record(ns, 1)
	if rest := c.undelayed[metric]; rest != nil {
		rest.Record(ns-c.clientDelay(metric, r), 1)
	}
}

func (c *Collector) noteSendDelay(ns int64) {
	if c.values[SendDelay] == nil {
		c.sendDelays = [2]int64{ns, ns}
	}
	c.sendDelays = [2]int64{min(c.sendDelays[0], ns), max(c.sendDelays[1], ns)}
}

// clientDelay is what the client itself may have added to TTFT or E2E, in
// nanoseconds: its goroutine ran late, writing took until the last byte was handed
// over, and the token lay unread. The waits for a slot and for a connection are
// not in it: the first was asked for, the second is the server's and the network's.
func (c *Collector) clientDelay(metric string, r *record.Request) int64 {
	late, _ := span(r.Sched, r.Dispatch)
	writing, _ := span(r.Conn, r.Sent)
	if len(r.Retried) > 0 { // Conn is the last attempt's
		writing = 0
	}
	if metric == E2E {
		return late + writing + c.unreadDelay(r.Last, r.LastCame)
	}
	return late + writing + c.unreadDelay(r.First, r.FirstCame)
}

// unreadDelay is how much of an instant may be the client's doing: all of what is
// not known of it, if the client was away. A client that waited was late by no
// more than it was as a whole: what came in one piece after a long silence
// accuses nobody.
func (c *Collector) unreadDelay(at record.Instant, came record.Came) int64 {
	if came.Width <= 0 || came.Away {
		return max(came.Width, 0)
	}
	return min(came.Width, int64(c.lateness(at-record.Instant(came.Width), at+record.Instant(came.Unread))))
}

// ambiguous is the delay of an event's instant from which on the event is counted
// as ambiguous, in nanoseconds.
const ambiguous = 1_000_000

func (c *Collector) addEvents(r *record.Request) {
	for i := range r.Events {
		ev := &r.Events[i]
		if ev.Unread > 0 {
			c.events[ReceiveDelay].Record(ev.Unread, 1)
		}
		if c.unreadDelay(ev.At, ev.Came) >= ambiguous {
			c.ambiguousEvents++
		}
	}
	eachGap(r.Events,
		func(ns int64) { c.events[ChunkGap].Record(ns, 1) },
		c.events[ITL].Record)
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

// Quantiles returns quantile q, 0 ≤ q ≤ 1, of TTFT or E2E over the measured ok
// requests, in nanoseconds: as observed, and with what the client itself may have
// added taken out of each request. Both are 0 for other metrics and no requests.
func (c *Collector) Quantiles(metric string, q float64) (observed, undelayed int64) {
	rest, v := c.undelayed[metric], c.values[metric]
	if rest == nil || v == nil {
		return 0, 0
	}
	return v.exact.Quantile(q), rest.Quantile(q)
}

// Conditions are what the records can't say about their load point.
type Conditions struct {
	OfferedRPS  float64 // open loop: the planned rate; 0 in a closed loop
	Arrivals    string  // where these two do not say it all
	Concurrency int     // closed loop: requests kept in flight; 0 in an open loop
	// CutAt is the moment the run was cut short, inside the window; 0: it was not.
	CutAt      record.Instant
	Accounting record.Accounting
}

// Point summarises what was added. It fails where the window has no length: a
// point that was not measured has no summary.
func (c *Collector) Point(under Conditions) (Point, error) {
	end := c.window.End
	if under.CutAt != 0 {
		end = min(end, under.CutAt)
	}
	if end <= c.window.Start {
		return Point{}, fmt.Errorf("load point of %d requests: the measured window ends at %d ns and starts at %d ns; it must end after its start",
			under.Accounting.Scheduled, end, c.window.Start)
	}
	seconds := float64(end-c.window.Start) / 1e9
	p := Point{
		OfferedRPS: under.OfferedRPS, Concurrency: under.Concurrency, Arrivals: under.Arrivals, DurationS: seconds,
		Accounting:      under.Accounting,
		FailureExamples: maps.Clone(c.examples), Flags: maps.Clone(c.flags),
		PromptTokenMismatches: c.promptMismatches,
		TokensFromEvents:      c.tokensFromEvents,
		TokensEstimated:       c.tokensEstimated,
		AmbiguousEvents:       c.ambiguousEvents,
		SendSpreadMS:          float64(c.sendDelays[1]-c.sendDelays[0]) / 1e6,
		AchievedRPS:           float64(c.completed) / seconds,
		OutputTokensPerS:      float64(c.completedTokens) / seconds,
		Metrics:               make(map[string]wire.Columns),
		Histograms:            make(map[string]string),
	}
	if under.Concurrency == 0 {
		p.Backlog = c.backlog.backlog(end)
	}
	if err := c.summarise(&p); err != nil {
		return Point{}, err
	}
	if note := disagreement(c.tally, under.Accounting); note != "" {
		p.Notes = append(p.Notes, note)
	}
	return p, nil
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
	for name, v := range c.values {
		if err := add(name, v.exact.Stats(), v.histogram); err != nil {
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
