package selftest

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// WriteTable writes the result for people.
func (r Result) WriteTable(w io.Writer) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(format string, args ...any) { fmt.Fprintf(out, format+"\n", args...) }
	row("what this client sustains here\t\t\tat the limit")
	for _, p := range []struct {
		name, unit string
		part       Part
	}{
		{"requests, one token each", "requests/s", r.Requests},
		{"events, in paced streams", "events/s", r.Events},
		{"streams at once", "streams", r.Streams},
	} {
		row("%s\t%s\t%s\t%s", p.name, level(p.part), p.unit, p.part.limit())
	}
	row("")
	if r.EventsPerSPerCore > 0 {
		row("events a second of one core\t%.0f\tevents/s\tat the highest rate of events, all of the client's work included", r.EventsPerSPerCore)
	}
	if r.CPUPerRequestUS > 0 {
		row("CPU time of a request\t%.1f\tµs\tby regression over steps well below the limits, prompts of %d words", r.CPUPerRequestUS, r.PromptTokens)
		row("CPU time of an event\t%.2f\tµs\tby the same", r.CPUPerEventUS)
	}
	if d := r.Dispatch; d != nil {
		p50, p99 := d.Ratios()
		row("")
		row("lateness at %.0f requests/s\tp50\tp99\t", d.RequestsPerS)
		row("dispatch delay\t%.3f\t%.3f\tms", d.Delay.P50, d.Delay.P99)
		row("a bare sleeper, same schedule\t%.3f\t%.3f\tms", d.Sleeper.P50, d.Sleeper.P99)
		row("ratio\t%.1f\t%.1f\t", p50, p99)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s, %d cores, %s, llmsim-bench %s. The server had its share of the same cores.\n", r.Key.CPU, r.Key.Cores, r.Key.Go, r.Key.Version)
	for _, note := range r.Notes {
		if err == nil {
			_, err = fmt.Fprintln(w, note)
		}
	}
	return err
}

func level(p Part) string {
	if p.Sustained == 0 {
		return "none"
	}
	return fmt.Sprintf("%.0f", p.Sustained)
}

// limit says what ended the ladder: why the lowest level above was not sustained.
func (p Part) limit() string {
	if p.Bounded && p.Sustained > 0 {
		return "not reached: no more was tried"
	}
	var lowest *Step
	for i := range p.Steps {
		s := &p.Steps[i]
		if s.Level > p.Sustained && !s.Sustained && (lowest == nil || s.Level <= lowest.Level) {
			lowest = s
		}
	}
	if lowest == nil || len(lowest.Reasons) == 0 {
		return ""
	}
	return fmt.Sprintf("at %.0f: %s", lowest.Level, lowest.Reasons[0])
}
