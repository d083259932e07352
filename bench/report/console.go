package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"

	"llmsim-bench/bench/summary"
	"llmsim-bench/internal/hist"
	"llmsim-bench/internal/wire"
)

// absent stands where there is no value.
const absent = "-"

// WriteConsole prints the result for people: a table of one row a load point,
// then what the reader must know about it. Tables are at most width columns
// wide, 0 for no limit; the text is UTF-8.
func WriteConsole(w io.Writer, r *Result, width int) error {
	var text strings.Builder
	where := "in virtual time"
	if r.TargetURL != "" {
		where = "at " + printable(r.TargetURL)
	}
	fmt.Fprintf(&text, "%s %s, seed %d\n", printable(r.Model), where, r.Seed)
	if len(r.Points) > 0 {
		views := viewsOf(r.Points)
		table(&text, "Latencies in ms: "+viewLegend(views)+latenessLegend(r.Points, views), mainTable(r.Points, views), width)
		if hasClient(views) {
			table(&text, "The client's latencies from the moment of sending, as other tools report them", sentTable(r.Points), width)
		}
		if steps := stepTable(r.Points); steps != nil {
			table(&text, "The simulated engine's steps; KV: share of blocks in use; queue: ms from arrival to first step", steps, width)
		}
	}
	for _, line := range remarks(r) {
		text.WriteString(line)
		text.WriteByte('\n')
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// table writes one table under its legend.
func table(text *strings.Builder, legend string, columns []column, width int) {
	fmt.Fprintf(text, "%s\n\n%s\n", legend, layOut(columns, width))
}

// view is one of the sides a latency is seen from.
type view struct {
	name string
	of   func(wire.Columns) *hist.Stats
}

// viewsOf returns the views that any point has of a metric shown.
func viewsOf(points []summary.Point) []view {
	var views []view
	for _, v := range []view{
		{"client", summary.Client},
		{"server", func(c wire.Columns) *hist.Stats { return c.Server }},
		{"simulated", summary.Simulated},
	} {
		for i := range points {
			m := points[i].Metrics
			if v.of(m[summary.TTFT]) != nil || v.of(m[summary.TPOT]) != nil || v.of(m[summary.E2E]) != nil {
				views = append(views, v)
				break
			}
		}
	}
	if len(views) == 0 { // nothing has an answer: the table says so
		return clientView
	}
	return views
}

func hasClient(views []view) bool { return views[0].name == clientView[0].name }

// viewLegend names the views in their order, and from when each counts.
func viewLegend(views []view) string {
	var names []string
	for _, v := range views {
		names = append(names, v.name)
	}
	if !hasClient(views) {
		return strings.Join(names, " · ") + " (since received)"
	}
	names[0] += " (since scheduled)"
	text := strings.Join(names, " · ")
	if len(views) > 1 {
		text += " (since received)"
	}
	return text
}

// latenessLegend is a line of its own where there is a client.
func latenessLegend(points []summary.Point, views []view) string {
	if !hasClient(views) {
		return ""
	}
	text := "\ndispatch: p99 of the client's own lateness"
	if lagColumns(points) != nil {
		text += "; lag: p99 of the server's"
	}
	return text
}

func p50(s *hist.Stats) float64 { return s.P50 }
func p99(s *hist.Stats) float64 { return s.P99 }

// clientView is the view of a metric that only the client has.
var clientView = []view{{"client", summary.Client}}

// latency is the column of one statistic of a metric, in all its views.
func latency(head string, points []summary.Point, metric string, stat func(*hist.Stats) float64, views []view) column {
	parts := make([][]string, len(views))
	for i, v := range views {
		for row := range points {
			cell := absent
			if s := v.of(points[row].Metrics[metric]); s != nil {
				cell = number(stat(s))
			}
			parts[i] = append(parts[i], cell)
		}
	}
	return column{head: head, cells: joined(parts)}
}

// each makes a column of one cell a point.
func each(head string, points []summary.Point, cell func(*summary.Point) string) column {
	c := column{head: head}
	for i := range points {
		c.cells = append(c.cells, cell(&points[i]))
	}
	return c
}

func mainTable(points []summary.Point, views []view) []column {
	columns := []column{
		each("offered", points, rateOf),
		each("achieved", points, func(p *summary.Point) string { return number(p.AchievedRPS) + "/s" }),
		each("ok", points, func(p *summary.Point) string { return strconv.FormatInt(p.Accounting.OK, 10) }),
		each("failed", points, func(p *summary.Point) string { return strconv.FormatInt(p.Accounting.Failed, 10) }),
		latency("TTFT p50", points, summary.TTFT, p50, views),
		latency("TTFT p99", points, summary.TTFT, p99, views),
		latency("TPOT p50", points, summary.TPOT, p50, views),
		latency("E2E p50", points, summary.E2E, p50, views),
	}
	if !hasClient(views) {
		return append(columns, flagColumns(points)...)
	}
	columns = append(columns, latency("dispatch", points, summary.DispatchDelay, p99, clientView))
	columns = append(columns, lagColumns(points)...)
	verdict := each("health", points, func(p *summary.Point) string {
		if p.Health.Verdict == "" {
			return absent
		}
		return printable(p.Health.Verdict)
	})
	verdict.left = true
	columns = append(columns, verdict)
	return append(columns, flagColumns(points)...)
}

// lagColumns are none where no server keeps a lag.
func lagColumns(points []summary.Point) []column {
	known := false
	lag := each("lag", points, func(p *summary.Point) string {
		if p.Lateness == nil {
			return absent
		}
		known = true
		return number(p.LagP99MS)
	})
	if !known {
		return nil
	}
	return []column{lag}
}

// flagColumns are none where every point's figures are what they seem.
func flagColumns(points []summary.Point) []column {
	flagged := false
	flag := each("", points, func(p *summary.Point) string {
		var flags []string
		if p.Lateness != nil && p.ServerLate {
			flags = append(flags, "server late")
		}
		if p.Backlog != nil && p.Backlog.Unstable {
			flags = append(flags, "unstable")
		}
		flagged = flagged || len(flags) > 0
		return strings.Join(flags, ", ")
	})
	if !flagged {
		return nil
	}
	flag.left = true
	return []column{flag}
}

// sentTable stands beside the headline figures: where the two differ, requests
// waited in the client before they were sent.
func sentTable(points []summary.Point) []column {
	return []column{
		each("offered", points, rateOf),
		latency("TTFT p50", points, summary.TTFTSent, p50, clientView),
		latency("TTFT p99", points, summary.TTFTSent, p99, clientView),
		latency("E2E p50", points, summary.E2ESent, p50, clientView),
		latency("E2E p99", points, summary.E2ESent, p99, clientView),
		latency("send delay p99", points, summary.SendDelay, p99, clientView),
	}
}

// stepTable is nil where no point knows of steps.
func stepTable(points []summary.Point) []column {
	known := false
	of := func(head string, cell func(*wire.Steps) string) column {
		return each(head, points, func(p *summary.Point) string {
			if p.Steps == nil || p.Steps.Count == 0 {
				return absent
			}
			known = true
			return cell(p.Steps)
		})
	}
	simulated := []view{{"simulated", summary.Simulated}}
	columns := []column{
		each("offered", points, rateOf),
		of("steps", func(s *wire.Steps) string { return strconv.FormatInt(s.Count, 10) }),
		of("step p50", func(s *wire.Steps) string { return number(s.Duration.P50) }),
		of("step max", func(s *wire.Steps) string { return number(s.Duration.Max) }),
		of("batch mean", func(s *wire.Steps) string { return number(s.BatchSize.Mean) }),
		of("batch max", func(s *wire.Steps) string { return number(s.BatchSize.Max) }),
		of("KV mean", func(s *wire.Steps) string { return percent(s.KVUse.Mean) }),
		of("KV max", func(s *wire.Steps) string { return percent(s.KVUse.Max) }),
		latency("queue p50", points, summary.Queue, p50, simulated),
		latency("queue p99", points, summary.Queue, p99, simulated),
		of("preempted", func(s *wire.Steps) string { return strconv.FormatInt(s.Preemptions, 10) }),
		of("prefix hits", func(s *wire.Steps) string {
			if s.PrefixCache.Queries == 0 {
				return absent
			}
			return percent(float64(s.PrefixCache.Hits) / float64(s.PrefixCache.Queries))
		}),
	}
	if !known {
		return nil
	}
	return columns
}

func percent(share float64) string { return strconv.FormatFloat(share*100, 'f', 1, 64) + " %" }

// rateOf names a load point: "12.5/s", "8 at once" in a closed loop, or whatever
// else describes its arrivals.
func rateOf(p *summary.Point) string {
	if p.Arrivals != "" {
		return printable(p.Arrivals)
	}
	if p.Concurrency > 0 {
		return strconv.Itoa(p.Concurrency) + " at once"
	}
	return strconv.FormatFloat(p.OfferedRPS, 'f', -1, 64) + "/s"
}

// number writes a figure with about four significant digits.
func number(v float64) string {
	decimals := 2
	switch {
	case v >= 1000:
		decimals = 0
	case v >= 100:
		decimals = 1
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

// maxText bounds a text from elsewhere, in runes.
const maxText = 200

// printable makes a text from elsewhere, such as a server's error, fit for a
// terminal: one line of bounded length, without control characters.
func printable(s string) string {
	var kept strings.Builder
	n := 0
	for _, r := range strings.Join(strings.Fields(s), " ") {
		if n == maxText {
			return kept.String() + "..."
		}
		if !unicode.IsPrint(r) {
			r = '?'
		}
		kept.WriteRune(r)
		n++
	}
	return kept.String()
}
