package selftest

import (
	"time"

	"llmsim-bench/bench/health"
)

// Schema is the number of a Result's JSON form.
const Schema = 1

// Key says for which machine and program a Result holds.
type Key struct {
	CPU     string `json:"cpu"` // model
	Cores   int    `json:"cores"`
	Go      string `json:"go"`
	Version string `json:"version"` // of the program
}

// Result is what a client can sustain.
type Result struct {
	Schema   int       `json:"schema"`
	Key      Key       `json:"machine"`
	Measured time.Time `json:"measured"`
	Quick    bool      `json:"quick,omitzero"`

	// OthersCPU is the share of the host's CPU, 0 to 1, that was used before there
	// was any load.
	OthersCPU float64 `json:"others_cpu,omitzero"`

	// Requests is the part whose level is requests/s, each answered with one token.
	Requests Part `json:"requests"`
	// Events is the part whose level is events/s, in many paced streams.
	Events Part `json:"events"`
	// Streams is the part whose level is streams open at once.
	Streams Part `json:"streams"`

	// EventsPerSPerCore is how many events the client reads in a second of one
	// core's time at the highest level of Events, the rest of its work included.
	EventsPerSPerCore float64 `json:"events_per_s_per_core,omitzero"`
	// CPU time of a request and of an event, in µs, user and system, from steps
	// well below the limits; 0: they did not tell.
	CPUPerRequestUS float64 `json:"cpu_us_per_request,omitzero"`
	CPUPerEventUS   float64 `json:"cpu_us_per_event,omitzero"`

	Dispatch *Dispatch     `json:"dispatch,omitempty"`
	Limits   health.Limits `json:"limits"`
	// PromptTokens is how long the prompts of the requests were, in words.
	PromptTokens int      `json:"prompt_tokens"`
	Notes        []string `json:"notes,omitempty"`
}

// Part is one kind of load.
type Part struct {
	// Sustained is the highest level at which the client was well; 0: none was.
	Sustained float64 `json:"sustained"`
	// Bounded says that no higher level was tried, so that the limit is unknown.
	Bounded bool `json:"bounded"`
	// Steps are all measurements, in their order.
	Steps []Step `json:"steps"`
}

func newPart(steps []Step) Part {
	best, _ := highest(steps)
	p := Part{Sustained: best.Level, Bounded: true, Steps: steps}
	for _, s := range steps {
		p.Bounded = p.Bounded && s.Level <= best.Level
	}
	return p
}

// Step is one measurement at one level.
type Step struct {
	Level float64 `json:"level"`
	// RequestsPerS were sent, and EventsPerS, token-bearing ones, came in.
	RequestsPerS float64 `json:"requests_per_s"`
	EventsPerS   float64 `json:"events_per_s"`
	// Streams were open at the end.
	Streams int `json:"streams"`
	// Cores is CPU seconds of this process a second.
	Cores float64 `json:"cores"`
	// LatenessP99MS is that of the monitor's wake-ups.
	LatenessP99MS float64 `json:"wakeup_lateness_p99_ms"`
	// Sustained says that the client was well and the whole load was carried.
	Sustained bool     `json:"sustained"`
	Reasons   []string `json:"reasons,omitempty"` // why not
}

// Dispatch compares the dispatcher's lateness with that of a thread that sleeps
// until the same times, at the same time, and does nothing else.
type Dispatch struct {
	RequestsPerS float64  `json:"requests_per_s"`
	Delay        Lateness `json:"dispatch_delay_ms"`
	Sleeper      Lateness `json:"sleeper_ms"`
}

// Lateness in milliseconds.
type Lateness struct {
	Count int64   `json:"count"`
	P50   float64 `json:"p50"`
	P99   float64 `json:"p99"`
}

// over returns l as multiples of o; 0 where there is nothing to compare.
func (l Lateness) over(o Lateness) (p50, p99 float64) {
	ratio := func(a, b float64) float64 {
		if b <= 0 {
			return 0
		}
		return a / b
	}
	return ratio(l.P50, o.P50), ratio(l.P99, o.P99)
}
