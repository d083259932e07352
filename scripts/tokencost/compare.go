//go:build unix

package main

import (
	"fmt"
	"os"
	"slices"
	"text/tabwriter"

	"llmsim-bench/bench/health"
)

// figures are what is compared: CPU in µs, the others in ms.
var figures = []struct {
	name, format string
	of           func(m measured) float64
}{
	{"CPU/token", "%.2f µs", func(m measured) float64 { return float64(m.cpuPerToken) / 1e3 }},
	{"lag p50", "%.3f ms", func(m measured) float64 { return m.lag.P50 }},
	{"lag p99", "%.3f ms", func(m measured) float64 { return m.lag.P99 }},
	{"seen p99", "%.3f ms", func(m measured) float64 { return m.seen.P99 }},
}

// runCompare sets the server beside the bare loop.
func runCompare(o options) error {
	for _, s := range o.schedules {
		if err := compare(o, load{s, o.streams, o.tokens}); err != nil {
			return err
		}
	}
	return nil
}

func compare(o options, l load) error {
	event, err := tokenBytes(o.server, l.schedule)
	if err != nil {
		return err
	}
	bare, err := bareLoop(l, event)
	if err != nil {
		return err
	}
	programs := []program{bare, simulator(o.server, l.model)}
	for _, p := range o.also {
		programs = append(programs, simulator(p, l.model))
	}
	fmt.Printf("%s: %d streams, each a token every %v, %d tokens of %d bytes\n\n", l.name, l.streams, l.interval, l.tokens, len(event))
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "round\t")
	for _, f := range figures {
		fmt.Fprintf(w, "%s\tratio\t", f.name)
	}
	fmt.Fprintln(w, "drift\treader\tprogram")
	results := make([][]measured, len(programs)) // by program, then by round
	for round := range o.rounds {
		for turn := range programs {
			i := (turn + round) % len(programs) // take turns at being first
			m, err := measure(programs[i], l)
			if err != nil {
				return err
			}
			results[i] = append(results[i], m)
		}
		for i, p := range programs {
			printRow(w, fmt.Sprint(round+1), p, results[i][round:], results[0][round:])
		}
	}
	for i, p := range programs {
		printRow(w, "median", p, results[i], results[0])
	}
	fmt.Fprintln(w)
	return w.Flush()
}

// printRow prints a program's runs beside the bare loop's of the same rounds.
func printRow(w *tabwriter.Writer, round string, p program, runs, bare []measured) {
	fmt.Fprintf(w, "%s\t", round)
	printFigures(w, runs, bare)
	fmt.Fprintln(w, p.name)
}

// printFigures prints medians of runs, and of their ratios to the runs of the
// same rounds that they are compared with.
func printFigures(w *tabwriter.Writer, runs, with []measured) {
	for _, f := range figures {
		values, ratios := make([]float64, len(runs)), make([]float64, len(runs))
		for i := range runs {
			values[i] = f.of(runs[i])
			ratios[i] = values[i] / f.of(with[i])
		}
		fmt.Fprintf(w, f.format+"\t%.2f\t", median(values), median(ratios))
	}
	drifts := make([]float64, len(runs))
	for i, r := range runs {
		drifts[i] = r.drift
	}
	fmt.Fprintf(w, "%+.3f ms\t%s\t", median(drifts), worst(runs))
}

func median(values []float64) float64 {
	s := slices.Sorted(slices.Values(values))
	n := len(s)
	return (s[(n-1)/2] + s[n/2]) / 2
}

// worst is the worst verdict on the reading client.
func worst(runs []measured) string {
	v := health.OK
	for _, r := range runs {
		if v == health.OK || r.client.Verdict == health.Limited {
			v = r.client.Verdict
		}
	}
	return v
}
