package health

import (
	"fmt"
	"maps"
	"slices"
)

// Verdicts, from good to bad.
const (
	OK      = "ok"
	Suspect = "suspect" // the numbers deserve a second look
	Limited = "limited" // the client, not the server, shaped the numbers
)

// Thresholds of the verdict. A figure at its threshold is still fine.
const (
	suspectLatenessMS = 5.0
	limitedLatenessMS = 25.0
	suspectProcessCPU = 0.80 // of the process's cores
	suspectBound      = 0.05 // of the percentile
	limitedBound      = 0.25

	suspectDescriptors = 0.80 // of the limit
	suspectPorts       = 0.80 // of the local ports

	limitedDispatchedPercent = 99 // of the due requests
)

// Counts are the requests of the run.
type Counts struct {
	Due        int64 `json:"due"`
	Dispatched int64 `json:"dispatched"`
}

// Verdict says whether the client's numbers can be trusted, and why not.
type Verdict struct {
	Verdict string `json:"verdict"`
	// Reasons are full sentences with figures, one for each threshold passed.
	Reasons []string `json:"reasons,omitempty"`
	Report
	Counts Counts `json:"requests"`
	// Bounds by the name of the percentile, such as "ttft_p99".
	Bounds map[string]Bound `json:"bounds,omitempty"`
	// ClockSteps is how often the wall clock was set during the run.
	ClockSteps int64 `json:"clock_steps,omitzero"`
}

// Evidence is what a verdict goes by. What is left out speaks for nobody.
type Evidence struct {
	Report Report
	Counts Counts
	// Bounds says what the client itself added to headline percentiles, by their
	// name, such as "ttft_p99".
	Bounds map[string]Bound
	// ClockSteps is how often the wall clock was seen to have been set. The
	// kernel's receive stamps are readings of it.
	ClockSteps int64
}

// Judge weighs the evidence.
func (e Evidence) Judge() Verdict {
	r, c, bounds := e.Report, e.Counts, e.Bounds
	v := Verdict{Verdict: OK, Report: r, Counts: c, Bounds: bounds, ClockSteps: e.ClockSteps}

	switch p99 := r.Lateness.P99; {
	case p99 > limitedLatenessMS:
		v.note(Limited, "The client's wake-ups were up to %.1f ms late (p99), more than %.0f ms.", p99, limitedLatenessMS)
	case p99 > suspectLatenessMS:
		v.note(Suspect, "The client's wake-ups were up to %.1f ms late (p99), more than %.0f ms.", p99, suspectLatenessMS)
	}
	if r.ProcessCPU != nil && *r.ProcessCPU > suspectProcessCPU {
		v.note(Suspect, "The client used %.1f %% of its %d cores, more than %.0f %%.", *r.ProcessCPU*100, r.Cores, suspectProcessCPU*100)
	}
	if d := r.Descriptors; d != nil && float64(d.Open) > suspectDescriptors*float64(d.Limit) && d.Limit > 0 {
		v.note(Suspect, "The client had %d of %d file descriptors open, more than %.0f %%.", d.Open, d.Limit, suspectDescriptors*100)
	}
	if p := r.Ports; p != nil && float64(p.Connections) > suspectPorts*float64(p.Available) {
		v.note(Suspect, "The connections to the target took %d of %d local ports, more than %.0f %%.", p.Connections, p.Available, suspectPorts*100)
	}
	if e.ClockSteps > 0 {
		v.note(Suspect, "The wall clock was set during the run (steps seen: %d); receive stamps near them are missing.", e.ClockSteps)
	}
	if 100*c.Dispatched < limitedDispatchedPercent*c.Due {
		v.note(Limited, "The client dispatched %d of %d due requests, fewer than %d %%.", c.Dispatched, c.Due, limitedDispatchedPercent)
	}
	for _, name := range slices.Sorted(maps.Keys(bounds)) {
		b := bounds[name]
		switch share := b.share(); {
		case share > limitedBound:
			v.note(Limited, "Up to %.1f ms of %s, %.1f ms, may be the client's own delay: %.1f %%, more than %.0f %%.", b.BoundMS, name, b.PercentileMS, share*100, limitedBound*100)
		case share > suspectBound:
			v.note(Suspect, "Up to %.1f ms of %s, %.1f ms, may be the client's own delay: %.1f %%, more than %.0f %%.", b.BoundMS, name, b.PercentileMS, share*100, suspectBound*100)
		}
	}
	return v
}

// note adds a reason; the verdict only ever gets worse.
func (v *Verdict) note(verdict, format string, args ...any) {
	if verdict == Limited || v.Verdict == OK {
		v.Verdict = verdict
	}
	v.Reasons = append(v.Reasons, fmt.Sprintf(format, args...))
}
