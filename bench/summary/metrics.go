package summary

import (
	"math"

	"llmsim-bench/bench/record"
)

// Names of the client's metrics. The instants they are made of are fields of
// record.Request; n is its OutputTokens.
const (
	TTFT          = "ttft"           // first − sched: the headline
	TTFTSent      = "ttft_sent"      // first − sent: what vLLM, guidellm and aiperf call TTFT
	TTFO          = "ttfo"           // out − sched: the first token that is not reasoning
	E2E           = "e2e"            // last − sched
	E2ESent       = "e2e_sent"       // last − sent
	DispatchDelay = "dispatch_delay" // dispatch − sched: the client's own lateness
	SendDelay     = "send_delay"     // sent − sched: with the waits for a slot and a connection
	TPOT          = "tpot"           // (last − first) ÷ (n − tokens of the first event)
	ChunkGap      = "chunk_gap"      // between successive token-bearing events
	ITL           = "itl"            // chunk_gap ÷ tokens of the later event, weighted by them
	NormLatency   = "norm_latency"   // e2e ÷ n
	Tail          = "tail"           // end − last
	ReceiveDelay  = "receive_delay"  // how long after the kernel had it an event with tokens was read
)

// The simulator's own metrics.
const (
	Lag   = "lag"   // the moment a token was written − the moment it was due
	Queue = "queue" // first admission to a step − arrival at the scheduler
)

// definition is one metric that has at most one value a request.
type definition struct {
	name string
	// anyOutcome says that every request that was sent has the metric, and not
	// only the ok ones.
	anyOutcome bool
	// value returns nanoseconds, and whether the metric is defined.
	value func(r *record.Request) (int64, bool)
}

var perRequest = []definition{
	{name: TTFT, value: func(r *record.Request) (int64, bool) { return span(r.Sched, r.First) }},
	{name: TTFTSent, value: func(r *record.Request) (int64, bool) { return span(r.Sent, r.First) }},
	{name: TTFO, value: func(r *record.Request) (int64, bool) { return span(r.Sched, r.Out) }},
	{name: E2E, value: func(r *record.Request) (int64, bool) { return span(r.Sched, r.Last) }},
	{name: E2ESent, value: func(r *record.Request) (int64, bool) { return span(r.Sent, r.Last) }},
	{name: DispatchDelay, anyOutcome: true, value: dispatchDelay},
	{name: SendDelay, anyOutcome: true, value: func(r *record.Request) (int64, bool) { return span(r.Sched, r.Sent) }},
	{name: TPOT, value: tpot},
	{name: NormLatency, value: normLatency},
	{name: Tail, value: func(r *record.Request) (int64, bool) { return span(r.Last, r.End) }},
}

// perEvent names the metrics of events: ReceiveDelay has a value for each, the
// others for each but the first.
var perEvent = []string{ChunkGap, ITL, ReceiveDelay}

// span returns to − from, and whether both instants came.
func span(from, to record.Instant) (int64, bool) {
	if from == record.Unset || to == record.Unset {
		return 0, false
	}
	return int64(to - from), true
}

func dispatchDelay(r *record.Request) (int64, bool) {
	if r.Sent == record.Unset {
		return 0, false
	}
	return span(r.Sched, r.Dispatch)
}

// tpot is undefined where no token followed the first event, and where all came
// at one instant: a stream without a pace has no pace of 0.
func tpot(r *record.Request) (int64, bool) {
	took, ok := span(r.First, r.Last)
	if !ok || took <= 0 || len(r.Events) == 0 {
		return 0, false
	}
	return perToken(took, float64(r.OutputTokens)-r.Events[0].Tokens)
}

func normLatency(r *record.Request) (int64, bool) {
	took, ok := span(r.Sched, r.Last)
	if !ok {
		return 0, false
	}
	return perToken(took, float64(r.OutputTokens))
}

// perToken divides to the nearest nanosecond; no tokens, no value.
func perToken(ns int64, tokens float64) (int64, bool) {
	if !(tokens > 0) {
		return 0, false
	}
	each := math.Round(float64(ns) / tokens)
	if each >= math.MaxInt64 { // a fraction of a token so small that it says nothing
		return 0, false
	}
	return int64(each), true
}

// eachGap calls gap for every event but the first, with the time since the
// event before, and itl for those that carry tokens, with the time a token took
// and how many of the histogram's counts it deserves. Token counts can be
// fractions; what rounding leaves over goes to the next event, so that the
// weights of a request add up to its tokens.
func eachGap(events []record.Event, gap func(ns int64), itl func(ns, weight int64)) {
	var tokens float64
	var weighed int64
	for i := 1; i < len(events); i++ {
		ns := int64(events[i].At - events[i-1].At)
		gap(ns)
		each, ok := perToken(ns, events[i].Tokens)
		if !ok {
			continue
		}
		tokens += events[i].Tokens
		if weight := int64(math.Round(tokens)) - weighed; weight > 0 {
			itl(each, weight)
			weighed += weight
		}
	}
}
