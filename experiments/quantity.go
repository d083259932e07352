package experiments

import (
	"fmt"
	"math"
	"strings"

	"llmsim-bench/bench/summary"
	"llmsim-bench/experiments/simulate"
	"llmsim-bench/internal/hist"
)

// Columns are the views of one quantity. A view that does not exist is nil.
type Columns struct {
	// Simulated is the timeline's, Server what the simulator wrote, Client what the
	// load generator saw.
	Simulated *float64 `json:"simulated,omitempty"`
	Server    *float64 `json:"server,omitempty"`
	Client    *float64 `json:"client,omitempty"`
}

// judged is the column that a verdict is on: the simulated one, or the only one
// that there is. It is nil where there is none.
func (c Columns) judged() *float64 {
	for _, column := range []*float64{c.Simulated, c.Client, c.Server} {
		if column != nil {
			return column
		}
	}
	return nil
}

// outcome is what one case came to, live or in virtual time.
type outcome struct {
	point *summary.Point
	// virtual says that the point is of virtual time, whose only column is the
	// simulated one.
	virtual bool
	// replay is nil in virtual time.
	replay *simulate.Replayed
}

// quantity is something that can be measured.
type quantity struct {
	name, unit, what string
	read             func(o *outcome) Columns
}

// quantities is the one place that says what can be measured and where it stands.
var quantities = allQuantities()

// quantityOf returns the quantity of a name.
func quantityOf(name string) (*quantity, error) {
	for i := range quantities {
		if quantities[i].name == name {
			return &quantities[i], nil
		}
	}
	var names []string
	for i := range quantities {
		names = append(names, quantities[i].name)
	}
	return nil, fmt.Errorf("there is no quantity %q; there are %s", name, strings.Join(names, ", "))
}

// statistic is one figure of a distribution.
type statistic struct {
	name string
	of   func(s *hist.Stats) float64
}

var statistics = []statistic{
	{"mean", func(s *hist.Stats) float64 { return s.Mean }},
	{"p50", func(s *hist.Stats) float64 { return s.P50 }},
	{"p99", func(s *hist.Stats) float64 { return s.P99 }},
	{"max", func(s *hist.Stats) float64 { return s.Max }},
}

func allQuantities() []quantity {
	var all []quantity
	for _, metric := range []struct{ name, what string }{
		{summary.TTFT, "time to first token"},
		{summary.ITL, "time between tokens"},
		{summary.TPOT, "time per output token"},
		{summary.E2E, "time to last token"},
		{summary.Queue, "wait for the first step"},
	} {
		for _, s := range statistics {
			all = append(all, quantity{metric.name + "_" + s.name, "ms", metric.what + ", " + s.name, latency(metric.name, s)})
		}
	}
	for _, of := range []struct {
		name, unit, what string
		stats            func(p *summary.Point) *hist.Stats
	}{
		{"step", "ms", "duration of steps", func(p *summary.Point) *hist.Stats { return &p.Steps.Duration }},
		{"batch", "sequences", "batch size of steps", func(p *summary.Point) *hist.Stats { return &p.Steps.BatchSize }},
		{"kv_use", "of 1", "KV blocks in use", func(p *summary.Point) *hist.Stats { return &p.Steps.KVUse }},
	} {
		for _, s := range statistics {
			all = append(all, quantity{of.name + "_" + s.name, of.unit, of.what + ", " + s.name, ofSteps(func(p *summary.Point) float64 {
				return s.of(of.stats(p))
			})})
		}
	}
	return append(
		all,
		quantity{"steps", "", "number of steps", ofSteps(func(p *summary.Point) float64 { return float64(p.Steps.Count) })},
		quantity{"scheduled_tokens", "tokens", "tokens of all steps", ofSteps(func(p *summary.Point) float64 {
			return p.Steps.Tokens.Mean * float64(p.Steps.Count)
		})},
		quantity{"preemptions", "", "preemptions", ofSteps(func(p *summary.Point) float64 { return float64(p.Steps.Preemptions) })},
		quantity{"cached_share", "of 1", "prompt tokens found in the prefix cache", ofSteps(func(p *summary.Point) float64 {
			return float64(p.Steps.PrefixCache.Hits) / max(float64(p.Steps.PrefixCache.Queries), 1)
		})},
		quantity{"rate", "req/s", "requests answered a second", ofClient(func(p *summary.Point) float64 { return p.AchievedRPS })},
		quantity{"tokens_per_s", "tokens/s", "output tokens a second", ofClient(func(p *summary.Point) float64 { return p.OutputTokensPerS })},
		quantity{"loop_tokens_per_s", "tokens/s", "output tokens a second of a closed loop: users × tokens of an answer ÷ mean time to last token", ofLoop},
		quantity{"completed", "requests", "requests answered", ofClient(func(p *summary.Point) float64 { return float64(p.Accounting.OK) })},
		quantity{"left", "requests", "requests whose client left", ofClient(func(p *summary.Point) float64 { return float64(p.Accounting.Cancelled) })},
		quantity{"left_tokens_max", "tokens", "most tokens computed for a client that left", ofReplay(func(r *simulate.Replayed) float64 {
			return float64(r.AbortedTokens[1])
		})},
	)
}

// latency reads a metric, which has a value in each column that exists.
func latency(metric string, s statistic) func(*outcome) Columns {
	return func(o *outcome) Columns {
		columns := o.point.Metrics[metric]
		value := func(stats *hist.Stats) *float64 {
			if stats == nil {
				return nil
			}
			return rounded(s.of(stats))
		}
		return Columns{Simulated: value(columns.Simulated), Server: value(columns.Server), Client: value(columns.Client)}
	}
}

// ofSteps reads what only the timeline has.
func ofSteps(value func(p *summary.Point) float64) func(*outcome) Columns {
	return func(o *outcome) Columns {
		if o.point.Steps == nil || o.point.Steps.Count == 0 {
			return Columns{}
		}
		return Columns{Simulated: rounded(value(o.point))}
	}
}

// ofClient reads what the load generator counts, in virtual time on the timeline.
func ofClient(value func(p *summary.Point) float64) func(*outcome) Columns {
	return func(o *outcome) Columns {
		if o.virtual {
			return Columns{Simulated: rounded(value(o.point))}
		}
		return Columns{Client: rounded(value(o.point))}
	}
}

// ofLoop reads how much a closed loop of one fixed output length gets, in each
// column that exists. A count of requests in a window would be off by one in few.
func ofLoop(o *outcome) Columns {
	if o.point.AchievedRPS == 0 {
		return Columns{}
	}
	tokens := math.Round(o.point.OutputTokensPerS / o.point.AchievedRPS)
	e2e := o.point.Metrics[summary.E2E]
	value := func(stats *hist.Stats) *float64 {
		if stats == nil || stats.Mean == 0 {
			return nil
		}
		return rounded(float64(o.point.Concurrency) * tokens / stats.Mean * 1e3)
	}
	return Columns{Simulated: value(e2e.Simulated), Server: value(e2e.Server), Client: value(e2e.Client)}
}

// ofReplay reads what only the replay of a live run tells.
func ofReplay(value func(r *simulate.Replayed) float64) func(*outcome) Columns {
	return func(o *outcome) Columns {
		if o.replay == nil {
			return Columns{}
		}
		return Columns{Simulated: rounded(value(o.replay))}
	}
}
