package selftest

import "fmt"

// maxCPU is the share of its cores from which on a client's numbers are suspect.
const maxCPU = 0.80

// Warnings says, in full sentences with figures, what of a planned load is above
// what this machine was found to sustain. What is 0 is not planned or not known.
// A part of which nothing was sustained warns of nothing: its measurement says
// that something was wrong then, not what the machine can do.
func (r Result) Warnings(requestsPerS, eventsPerS float64, streams int) []string {
	var all []string
	circumstances := ""
	if r.OthersCPU > quietShare {
		circumstances = fmt.Sprintf(", while other processes used %.0f %% of its CPU", r.OthersCPU*100)
	}
	for _, p := range []struct {
		planned float64
		part    Part
		unit    string
	}{
		{requestsPerS, r.Requests, "requests/s"},
		{eventsPerS, r.Events, "events/s"},
		{float64(streams), r.Streams, "streams at once"},
	} {
		switch {
		case p.part.Sustained <= 0 || p.planned <= p.part.Sustained:
		case p.part.Bounded:
			all = append(all, fmt.Sprintf("The load is about %.0f %s, and the self-test of this machine tried no more than %.0f%s.", p.planned, p.unit, p.part.Sustained, circumstances))
		default:
			all = append(all, fmt.Sprintf("The load is about %.0f %s, and the self-test found this machine to sustain %.0f%s.", p.planned, p.unit, p.part.Sustained, circumstances))
		}
	}
	cores := (requestsPerS*r.CPUPerRequestUS + eventsPerS*r.CPUPerEventUS) / 1e6
	if r.Key.Cores > 0 && cores > maxCPU*float64(r.Key.Cores) {
		all = append(all, fmt.Sprintf("By the costs that the self-test found, %.0f requests/s and %.0f events/s take %.1f of this machine's %d cores, more than %.0f %%.", requestsPerS, eventsPerS, cores, r.Key.Cores, maxCPU*100))
	}
	return all
}
