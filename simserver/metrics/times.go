package metrics

import (
	"math"

	"llmsim-bench/internal/hist"
	"llmsim-bench/internal/wire"
)

// metric is one of the times kept of requests.
type metric int

const (
	ttft  metric = iota // first token − arrival
	itl                 // token − the token before
	tpot                // (last − first token) ÷ (tokens − 1); none for a single token
	e2e                 // last token − arrival
	queue               // first admission to a step − arrival at the scheduler; the server's: its decision
	lag                 // released − due, the simulator's error bar
	metricCount
)

// metricNames are the metrics' names in a summary.
var metricNames = [metricCount]string{ttft: "ttft", itl: "itl", tpot: "tpot", e2e: "e2e", queue: "queue", lag: "lag"}

// times holds the distributions of all metrics.
type times struct {
	of [metricCount]columns
	// timeScale turns what lies between two moments into wall time.
	timeScale float64
}

// columns holds one metric as the simulated timeline has it and as the server
// released it. Each view is made at its first value, since most scopes have few.
type columns struct {
	simulated *hist.Exact
	server    *hist.Duration
}

func (c *columns) addSimulated(ns int64) {
	if c.simulated == nil {
		c.simulated = hist.NewExact()
	}
	c.simulated.Record(ns, 1)
}

func (c *columns) addServer(ns int64) {
	if c.server == nil {
		c.server = hist.NewDuration()
	}
	c.server.Record(ns, 1)
}

// addServer adds the time between two moments as the wall clock has it.
func (t *times) addServer(m metric, from, to int64) {
	t.of[m].addServer(int64(math.Round(float64(to-from) / t.timeScale)))
}

func (t *times) addQueue(o *Outcome) {
	t.of[queue].addSimulated(o.Queue)
	t.addServer(queue, 0, o.QueueServer)
}

// fold adds the times of one choice of a request.
func (t *times) fold(o *Outcome, c *Timeline) {
	n := len(c.Released)
	if n == 0 {
		return
	}
	for i, released := range c.Released {
		if released >= 0 {
			t.addServer(lag, c.Due[i], released)
		}
		if i == 0 {
			continue
		}
		t.of[itl].addSimulated(c.Due[i] - c.Due[i-1])
		if before := c.Released[i-1]; before >= 0 && released >= 0 {
			t.addServer(itl, before, released)
		}
	}
	if o.Aborted != "" {
		return
	}

	first, last := c.Due[0], c.Due[n-1]
	t.of[ttft].addSimulated(first - o.Arrival)
	t.of[e2e].addSimulated(last - o.Arrival)
	if n > 1 {
		t.of[tpot].addSimulated((last - first) / int64(n-1))
	}

	first, last = c.Released[0], c.Released[n-1]
	if last >= 0 {
		t.addServer(e2e, o.Arrival, last)
	}
	if first < 0 || !o.Streamed {
		return
	}
	t.addServer(ttft, o.Arrival, first)
	if n > 1 && last >= 0 {
		t.addServer(tpot, 0, (last-first)/int64(n-1))
	}
}

func (t *times) clone() (c times) {
	for m := range t.of {
		if t.of[m].simulated != nil {
			c.of[m].simulated = t.of[m].simulated.Clone()
		}
		if t.of[m].server != nil {
			c.of[m].server = t.of[m].server.Clone()
		}
	}
	return c
}

// summary holds the metrics that have a value, and of each the views that do.
func (t *times) summary() map[string]wire.Columns {
	byName := make(map[string]wire.Columns)
	for m, c := range t.of {
		var w wire.Columns
		if c.simulated != nil {
			stats := c.simulated.Stats()
			w.Simulated = &stats
		}
		if c.server != nil {
			stats := c.server.Stats()
			w.Server = &stats
		}
		if w != (wire.Columns{}) {
			byName[metricNames[m]] = w
		}
	}
	return byName
}
