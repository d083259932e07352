//go:build unix

package main

import (
	"fmt"
	"os"
	"slices"
	"text/tabwriter"
	"time"
)

const (
	// curveStreams is where the curve ends.
	curveStreams = 1024
	// curveTime is how long the streams of one run last.
	curveTime = 3 * time.Second
	// envelope is the lag at p99, in ms, up to which what clients see counts as simulated.
	envelope = 5.0
)

// point is a number of streams with the runs that measured it.
type point struct {
	streams int
	runs    []measured
}

func (p point) median(of func(m measured) float64) float64 {
	values := make([]float64, len(p.runs))
	for i, m := range p.runs {
		values[i] = of(m)
	}
	return median(values)
}

func (p point) lagP99() float64 { return p.median(func(m measured) float64 { return m.lag.P99 }) }

// runCurve measures the server at 1, 2, 4 … streams, then between the last of
// them that is within the envelope and the next.
func runCurve(o options) error {
	for _, s := range o.schedules {
		if err := curve(o, s); err != nil {
			return err
		}
	}
	return nil
}

func curve(o options, s schedule) error {
	fmt.Printf("%s: each stream a token every %v, for %v or longer; medians of %d rounds\n\n", s.name, s.interval, curveTime, o.rounds)
	var points []point
	for n := 1; n <= curveStreams; n *= 2 {
		points = append(points, point{streams: n})
	}
	if err := measurePoints(o, s, points); err != nil {
		return err
	}
	best := within(points)
	if best >= 0 && best+1 < len(points) && points[best].streams >= 4 {
		var between []point
		for quarter := 5; quarter < 8; quarter++ {
			between = append(between, point{streams: points[best].streams * quarter / 4})
		}
		if err := measurePoints(o, s, between); err != nil {
			return err
		}
		points = slices.Insert(points, best+1, between...)
		best = within(points)
	}

	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "streams\ttokens/s\tdue\tCPU/token\tlag p50\tlag p99\tseen p99\treader's CPU\treader\t")
	for _, p := range points {
		fmt.Fprintf(w, "%d\t%.0f\t%.0f\t", p.streams, p.median(tokenRate), float64(p.streams)/s.interval.Seconds())
		for _, f := range figures {
			fmt.Fprintf(w, f.format+"\t", p.median(f.of))
		}
		fmt.Fprintf(w, "%.0f %%\t%s\t\n", 100*p.median(readerCPU), worst(p.runs))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if best < 0 {
		fmt.Printf("\nNo lag p99 is at or below %v ms.\n\n", envelope)
		return nil
	}
	fmt.Printf("\nLag p99 is at or below %v ms up to %d streams: %.0f tokens/s.\n\n", envelope, points[best].streams, points[best].median(tokenRate))
	return nil
}

// measurePoints measures all points in each round, so that what disturbs the
// machine for a while disturbs one round of many points.
func measurePoints(o options, s schedule, points []point) error {
	for range o.rounds {
		for i := range points {
			l := load{s, points[i].streams, max(2*edge, int(curveTime/s.interval))}
			m, err := measure(simulator(o.server, s.model), l)
			if err != nil {
				return err
			}
			points[i].runs = append(points[i].runs, m)
		}
	}
	return nil
}

// within returns the last point within the envelope, or -1.
func within(points []point) int {
	for i := len(points) - 1; i >= 0; i-- {
		if points[i].lagP99() <= envelope {
			return i
		}
	}
	return -1
}

func tokenRate(m measured) float64 { return m.tokenRate }

func readerCPU(m measured) float64 {
	if m.client.ProcessCPU == nil {
		return 0
	}
	return *m.client.ProcessCPU
}
