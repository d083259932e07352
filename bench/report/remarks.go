package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"llmsim-bench/bench/summary"
)

// remarks are the lines below the table: everything without which its figures
// would be taken for more than they are.
func remarks(r *Result) []string {
	var lines []string
	if r.Interrupted {
		lines = append(lines, "interrupted: the run was stopped before its end; this is what was measured until then")
	}
	for i := range r.Points {
		p := &r.Points[i]
		for _, remark := range pointRemarks(p) {
			lines = append(lines, rateOf(p)+": "+remark)
		}
	}
	lines = append(lines, accounting(r.Points)...)
	for _, note := range r.Notes {
		lines = append(lines, "note: "+printable(note))
	}
	return lines
}

func pointRemarks(p *summary.Point) []string {
	var lines []string
	if p.Accounting.Scheduled == 0 {
		lines = append(lines, "no request came due")
	}
	if v := p.Health.Verdict; v != "" && v != "ok" {
		for _, reason := range p.Health.Reasons {
			lines = append(lines, "client "+printable(v)+": "+printable(reason))
		}
	}
	if p.Lateness != nil && p.ServerLate {
		lines = append(lines, fmt.Sprintf(
			"server late: lag p99 %s ms is past %s ms; simulated figures hold, observed ones carry the simulator's own overhead",
			number(p.LagP99MS), number(p.LagEnvelopeMS)))
	}
	if b := p.Backlog; b != nil && b.Unstable {
		lines = append(lines, fmt.Sprintf(
			"unstable: the backlog grew by about %s/s, from %d to %d requests; the latencies are not stationary: they say how long the run was, and no percentile of them describes the server",
			number(b.GrowthPerS), b.Start, b.End))
	}
	if strings.HasPrefix(p.Arrivals, "burst") && p.SendSpreadMS > 0 {
		lines = append(lines, fmt.Sprintf("the burst was sent within %s ms", number(p.SendSpreadMS)))
	}
	if cut := p.Accounting.CutOff(); cut > 0 {
		lines = append(lines, fmt.Sprintf(
			"%d requests were cut off by the end of the run (%d of them never sent); no latency counts them, and they were the longest",
			cut, p.Accounting.Dropped))
	}
	lines = append(lines, leavers(p)...)
	lines = append(lines, failures(p)...)
	for _, o := range p.SLO {
		lines = append(lines, objective(o))
	}
	lines = append(lines, doubts(p)...)
	for _, note := range p.Notes {
		lines = append(lines, printable(note))
	}
	return lines
}

// leavers tells of clients that left early and of attempts that were made again.
func leavers(p *summary.Point) []string {
	var lines []string
	a := &p.Accounting
	for _, kind := range slices.Sorted(maps.Keys(a.CancelledByKind)) {
		lines = append(lines, fmt.Sprintf("%d clients left early: %s", a.CancelledByKind[kind], printable(kind)))
	}
	for _, kind := range slices.Sorted(maps.Keys(a.RetriedByKind)) {
		lines = append(lines, fmt.Sprintf("%d attempts failed and were made again: %s; latencies count from the first", a.RetriedByKind[kind], printable(kind)))
	}
	return lines
}

// failures names each kind of failure with one example.
func failures(p *summary.Point) []string {
	var lines []string
	for _, kind := range slices.Sorted(maps.Keys(p.Accounting.FailedByKind)) {
		line := fmt.Sprintf("%d failed: %s", p.Accounting.FailedByKind[kind], printable(kind))
		if example := p.FailureExamples[kind]; example != "" {
			line += ", such as: " + printable(example)
		}
		lines = append(lines, line)
	}
	return lines
}

func objective(o summary.ObjectiveResult) string {
	verdict, measured := "missed", "there is no such figure"
	if o.Met {
		verdict = "met"
	}
	if o.MeasuredMS != nil {
		measured = "measured " + number(*o.MeasuredMS) + " ms"
	}
	return fmt.Sprintf("objective %s %s: %s", o.Objective, verdict, measured)
}

// doubts tells which ok requests make the figures less than they seem.
func doubts(p *summary.Point) []string {
	var lines []string
	add := func(n int64, what string) {
		if n > 0 {
			lines = append(lines, fmt.Sprintf("%d of %d ok requests %s", n, p.Accounting.OK, what))
		}
	}
	for _, flag := range slices.Sorted(maps.Keys(p.Flags)) {
		add(p.Flags[flag], "are flagged "+printable(flag))
	}
	add(p.PromptTokenMismatches, "had another prompt length by the server's count than was asked for")
	if p.AmbiguousEvents > 0 {
		lines = append(lines, fmt.Sprintf("%d events lay unread for a while: their instants may be a millisecond or more late", p.AmbiguousEvents))
	}
	add(p.TokensFromEvents, "came without usage: each event is counted as one token")
	add(p.TokensEstimated, "did not say which event held how many tokens: they are spread evenly, itl is an estimate")
	return lines
}

// accounting says that the accounting identity holds, or where it does not.
func accounting(points []summary.Point) []string {
	var broken []string
	for i := range points {
		if err := points[i].Accounting.Check(); err != nil {
			broken = append(broken, fmt.Sprintf("%s: ACCOUNTING DOES NOT ADD UP: %v", rateOf(&points[i]), err))
		}
	}
	const identity = "scheduled = ok + failed + cancelled + dropped + running"
	switch {
	case len(broken) > 0 || len(points) == 0:
		return broken
	case len(points) == 1:
		a := points[0].Accounting
		return []string{fmt.Sprintf("accounting: %s holds: %d = %d + %d + %d + %d + %d",
			identity, a.Scheduled, a.OK, a.Failed, a.Cancelled, a.Dropped, a.Running)}
	default:
		return []string{"accounting: " + identity + " holds at every point"}
	}
}
