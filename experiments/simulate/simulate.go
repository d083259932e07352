// Package simulate answers a load generator's workload in virtual time: what a
// sweep would ask of a simulated model goes in, and what the model's engine does
// with it comes out as the same result, with the simulated column only. It is
// where bench and simserver meet without a network between them. The result
// depends on its input alone, to the byte.
package simulate

import (
	"errors"
	"fmt"
	"io"
	"time"

	"llmsim-bench/bench"
	"llmsim-bench/bench/load"
	"llmsim-bench/bench/record"
	"llmsim-bench/bench/report"
	"llmsim-bench/bench/summary"
	"llmsim-bench/bench/workload"
	"llmsim-bench/simserver"
	"llmsim-bench/simserver/config"
	"llmsim-bench/simserver/sched"
	"llmsim-bench/simserver/virtual"
)

// Config says what to simulate.
type Config struct {
	bench.Workload
	// Model must be one of engine config.EngineScheduler.
	Model config.Model
	// Leave makes clients leave after some tokens. In virtual time they can't leave
	// after a time.
	Leave load.Leave
	// Delays are a machine's own; the zero value is none.
	Delays Delays
	// SLO is what every point should meet; nil: nothing.
	SLO summary.SLO
	// Trace, where given, takes every step as JSON Lines.
	Trace io.Writer
	// Version of the program, for the result.
	Version string
}

// Run simulates every load on an engine of its own, which starts empty.
func Run(c Config) (*report.Result, error) {
	if err := errors.Join(c.Check(), c.Leave.Check(), c.Delays.Check()); err != nil {
		return nil, err
	}
	if c.Leave.After > 0 {
		return nil, fmt.Errorf("clients that leave after a time, %v, can't be simulated, only such that leave after a number of tokens", c.Leave.After)
	}
	if err := checkModel(&c.Model); err != nil {
		return nil, err
	}
	result := &report.Result{
		Schema: report.Schema, ToolVersion: c.Version, Model: c.Model.Name, Seed: c.Seed,
	}
	var firstID int64
	for i := range c.Loads {
		timeline, err := simserver.NewTimeline(c.Model)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			result.Configuration = resolved(&c, timeline)
		}
		window := c.Window()
		p := &point{
			config: &c, index: i, timeline: timeline, nextID: firstID,
			records: summary.NewCollector(summary.Window{Start: record.Instant(window.Warmup), End: record.Instant(window.End())}, nil),
		}
		got, err := p.run()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.Loads[i], err)
		}
		result.Points = append(result.Points, got)
		firstID = p.nextID
	}
	return result, nil
}

// checkModel refuses what only a live server does, so that no result leaves it out.
func checkModel(m *config.Model) error {
	if m.Replicas > 1 {
		return fmt.Errorf("%s.replicas: a workload can be simulated on 1 only, not on %d (the event log of a live run can be replayed on any number)",
			m.Where, m.Replicas)
	}
	if n := m.Scheduler.Options.MaxWaiting; n > 0 {
		return fmt.Errorf("%s.scheduler.max_waiting: a simulated workload is never refused, so it must be 0, not %d", m.Where, n)
	}
	return nil
}

// resolved is the configuration as it was carried out.
func resolved(c *Config, t *simserver.Timeline) any {
	return struct {
		Loads      []bench.Load   `json:"loads"`
		DurationS  float64        `json:"duration_s"`
		WarmupS    float64        `json:"warmup_s"`
		Requests   workload.Shape `json:"requests"`
		SLO        summary.SLO    `json:"slo,omitempty"`
		FrontEndMS float64        `json:"front_end_ms"`
		Scheduler  sched.Config   `json:"scheduler"`
	}{
		c.Loads, c.Duration.Seconds(), c.Warmup.Seconds(), c.Shape, c.SLO,
		t.FrontEnd.Seconds() * 1e3, t.Config,
	}
}

// point is the simulation of one load.
type point struct {
	config   *Config
	index    int
	timeline *simserver.Timeline
	nextID   int64
	counts   record.Accounting // of the measured requests
	records  *summary.Collector
}

func (p *point) run() (summary.Point, error) {
	source, err := newSource(p)
	if err != nil {
		return summary.Point{}, err
	}
	window := p.config.Window()
	scheduler := p.timeline.Loop.Scheduler()
	collector := virtual.NewCollector(scheduler, sampleInterval(window.End()))
	watch := observer{Collector: collector, point: p}
	if p.config.Trace != nil {
		watch.trace = newTrace(p.config.Trace, p.config.Loads[p.index])
	}
	if err := virtual.Run(p.timeline.Loop, p.timeline.FrontEnd, source, &watch); err != nil {
		return summary.Point{}, err
	}
	if watch.trace != nil {
		if err := watch.trace.flush(); err != nil {
			return summary.Point{}, fmt.Errorf("write the trace: %w", err)
		}
	}
	load := p.config.Loads[p.index]
	got, err := p.records.Point(summary.Conditions{
		OfferedRPS: p.config.OfferedRPS(load), Concurrency: load.Concurrency, Arrivals: load.Description(), Accounting: p.counts,
	})
	if err != nil {
		return summary.Point{}, err
	}
	got.MergeServer(collector.Summary(), summary.LagEnvelope)
	got.SLO = p.config.SLO.Evaluate(&got, summary.Simulated)
	return got, nil
}

// Samples of the series over time: about so many, a second or more each.
const samples = 60

func sampleInterval(total time.Duration) time.Duration {
	return max(time.Second, (total / samples).Round(time.Second))
}

// observer adds to the collector what the result needs of each request.
type observer struct {
	*virtual.Collector
	point *point
	trace *trace
}

// Ended implements virtual.Observer.
func (o *observer) Ended(out *virtual.Outcome) {
	o.Collector.Ended(out)
	o.count(out, record.OK, "")
}

// Left implements virtual.Observer.
func (o *observer) Left(out *virtual.Outcome) {
	o.Collector.Left(out)
	o.count(out, record.Cancelled, record.LeftAfterTokens)
}

func (o *observer) count(out *virtual.Outcome, outcome, kind string) {
	rec := record.New()
	rec.ID, rec.Phase, rec.Outcome, rec.Kind = out.ID, record.PhaseWarmup, outcome, kind
	rec.Sched, rec.End, rec.OutputTokens = record.Instant(out.Arrival), record.Instant(out.Last), out.Tokens
	rec.OutputTokensFrom = record.FromUsage
	if out.Measured {
		rec.Phase = record.PhaseMeasure
		o.point.counts.Count(rec)
	}
	o.point.records.Add(rec)
}
