// Package summary makes the figures of one load point out of its records: what
// each metric means, its percentiles, throughput, and whether an objective was
// met. Records go in one by one, and the server's own summary where there is
// one; a Point comes out, whose JSON form is the one in result files. It is
// pure: it knows no clock, no file and no network, and nothing of how the load
// was made or is shown.
package summary

import (
	"fmt"

	"llmsim-bench/bench/record"
	"llmsim-bench/internal/wire"
)

// Point is the summary of one load point: of the requests of its measured
// phase. What is not known is absent from its JSON form, never zero.
type Point struct {
	// OfferedRPS is the planned rate, in requests a second. A closed loop has a
	// Concurrency instead.
	OfferedRPS  float64 `json:"offered_rps,omitzero"`
	Concurrency int     `json:"concurrency,omitzero"`
	// Arrivals describes the load where a rate or a concurrency does not say it
	// all, such as "gamma:0.5 20/s"; OfferedRPS is then the mean.
	Arrivals string `json:"arrivals,omitempty"`
	// SendSpreadMS is by how much the sent instants differ, in milliseconds, from
	// what was planned: the greatest delay less the least. Of a burst it is the time
	// within which all of it was sent.
	SendSpreadMS float64 `json:"send_spread_ms,omitzero"`
	// DurationS is the length of the measured window in seconds.
	DurationS float64 `json:"duration_s"`

	// AchievedRPS is the number of requests that ended well inside the measured
	// window, divided by its length. Requests sent during warm-up count when
	// they end inside it, as those sent inside it don't when they end after it:
	// a server that keeps up then achieves what was offered whatever its
	// latency, and one that doesn't achieves what it can do, without the drain
	// at the end. (Without warm-up the window starts on an idle server and
	// achieves less by about one latency's worth of requests.)
	AchievedRPS float64 `json:"achieved_rps"`
	// OutputTokensPerS counts all output tokens of the same requests.
	OutputTokensPerS float64 `json:"output_tokens_per_s"`

	Accounting record.Accounting `json:"accounting"`
	// Backlog is nil in a closed loop, and where the window was cut too short.
	Backlog *Backlog `json:"backlog,omitempty"`
	// ServerRequests is what the simulator counts of the same requests.
	ServerRequests *wire.Requests `json:"server_requests,omitempty"`
	// FailureExamples holds the first error message of each kind of failure.
	FailureExamples map[string]string `json:"failure_examples,omitempty"`
	Health          Health            `json:"health,omitzero"`
	// Lateness is nil where the server keeps no lag.
	*Lateness

	// Metrics holds latencies in milliseconds by name of the metric. The client
	// column is over ok requests; DispatchDelay and SendDelay are over all that
	// were sent. Metrics of one value a request are exact, ChunkGap and ITL
	// have three significant digits.
	Metrics map[string]wire.Columns `json:"metrics"`
	// Steps is nil where the server has no scheduler whose steps are known.
	Steps *wire.Steps `json:"steps,omitempty"`
	// Histograms holds the client column of each metric as an HdrHistogram of
	// nanoseconds in compressed V2 form, base64, so that runs can be merged.
	Histograms map[string]string `json:"histograms,omitempty"`

	// Flags counts ok requests by the flag they carry.
	Flags map[string]int64 `json:"flags,omitempty"`
	// PromptTokenMismatches counts ok requests for which the server counted
	// another number of prompt tokens than was asked for.
	PromptTokenMismatches int64 `json:"prompt_token_mismatches,omitzero"`
	// TokensFromEvents counts ok requests without a usage: each event counts as
	// one token.
	TokensFromEvents int64 `json:"tokens_from_events,omitzero"`
	// TokensEstimated counts ok requests whose tokens had to be spread evenly
	// over their events.
	TokensEstimated int64 `json:"tokens_estimated,omitzero"`

	// AmbiguousEvents counts events with tokens of ok requests whose instant may be
	// a millisecond or more late, since they lay unread.
	AmbiguousEvents int64 `json:"ambiguous_events,omitzero"`

	SLO   []ObjectiveResult `json:"slo,omitempty"`
	Notes []string          `json:"notes,omitempty"`
}

// disagreement compares the outcomes that records say with those the load
// generator counted, and describes what differs; empty: nothing does.
func disagreement(a, counted record.Accounting) string {
	if a.OK == counted.OK && a.Failed == counted.Failed && a.Cancelled == counted.Cancelled && a.Dropped == counted.Dropped {
		return ""
	}
	return fmt.Sprintf("the records hold %d ok, %d failed, %d cancelled, %d dropped; the load generator counted %d, %d, %d, %d",
		a.OK, a.Failed, a.Cancelled, a.Dropped, counted.OK, counted.Failed, counted.Cancelled, counted.Dropped)
}
