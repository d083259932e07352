package summary

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"llmsim-bench/internal/hist"
	"llmsim-bench/internal/wire"
)

// An Objective bounds one statistic of a client metric.
type Objective struct {
	Metric string // a name such as TTFT
	Stat   string // p50, p90, p95, p99, mean or max
	Limit  time.Duration
}

// SLO is a list of objectives, all of which are to be met.
type SLO []Objective

// stats names the statistics an objective can bound.
var stats = []string{"p50", "p90", "p95", "p99", "mean", "max"}

// stat returns a statistic in milliseconds by its name.
func stat(s *hist.Stats, name string) float64 {
	switch name {
	case "p50":
		return s.P50
	case "p90":
		return s.P90
	case "p95":
		return s.P95
	case "p99":
		return s.P99
	case "mean":
		return s.Mean
	default:
		return s.Max
	}
}

// ParseSLO reads objectives separated by commas, each like "ttft_p99=200ms" or
// "ttft_p99<=200ms".
func ParseSLO(s string) (SLO, error) {
	var slo SLO
	for part := range strings.SplitSeq(s, ",") {
		o, err := parseObjective(strings.TrimSpace(part))
		if err != nil {
			return nil, fmt.Errorf("objective %q: %w", part, err)
		}
		slo = append(slo, o)
	}
	return slo, nil
}

func parseObjective(s string) (Objective, error) {
	left, limit, ok := strings.Cut(s, "=")
	if !ok {
		return Objective{}, fmt.Errorf("there is no limit; it should look like ttft_p99=200ms")
	}
	left = strings.TrimSpace(strings.TrimSuffix(left, "<"))
	// The name of a metric can have an underscore too: the last one separates.
	cut := strings.LastIndexByte(left, '_')
	if cut < 0 {
		return Objective{}, fmt.Errorf("%q names no statistic; it should look like ttft_p99", left)
	}
	o := Objective{Metric: left[:cut], Stat: left[cut+1:]}
	if names := metricNames(); !slices.Contains(names, o.Metric) {
		return Objective{}, fmt.Errorf("there is no metric %q; the metrics are %s", o.Metric, strings.Join(names, ", "))
	}
	if !slices.Contains(stats, o.Stat) {
		return Objective{}, fmt.Errorf("there is no statistic %q; the statistics are %s", o.Stat, strings.Join(stats, ", "))
	}
	var err error
	if o.Limit, err = time.ParseDuration(strings.TrimSpace(limit)); err != nil || o.Limit <= 0 {
		return Objective{}, fmt.Errorf("the limit %q is no positive duration such as 200ms or 1.5s", limit)
	}
	return o, nil
}

// metricNames lists the metrics of the client column.
func metricNames() []string {
	var names []string
	for _, d := range perRequest {
		names = append(names, d.name)
	}
	return append(names, perEvent...)
}

// String returns the objective in the form that ParseSLO reads.
func (o Objective) String() string { return fmt.Sprintf("%s_%s<=%s", o.Metric, o.Stat, o.Limit) }

// ObjectiveResult says whether a point met an objective.
type ObjectiveResult struct {
	Objective string  `json:"objective"`
	LimitMS   float64 `json:"limit_ms"`
	// MeasuredMS is nil where the point has no such metric, which is a miss.
	MeasuredMS *float64 `json:"measured_ms,omitempty"`
	Met        bool     `json:"met"`
}

// Client and Simulated choose a column of a metric.
func Client(c wire.Columns) *hist.Stats    { return c.Client }
func Simulated(c wire.Columns) *hist.Stats { return c.Simulated }

// Evaluate holds one column of a point against each objective. Requests that
// failed have no latency and count for nothing here.
func (s SLO) Evaluate(p *Point, column func(wire.Columns) *hist.Stats) []ObjectiveResult {
	var results []ObjectiveResult
	for _, o := range s {
		r := ObjectiveResult{Objective: o.String(), LimitMS: float64(o.Limit) / 1e6}
		if stats := column(p.Metrics[o.Metric]); stats != nil {
			measured := stat(stats, o.Stat)
			r.MeasuredMS = &measured
			r.Met = measured <= r.LimitMS
		}
		results = append(results, r)
	}
	return results
}
