// Package wire holds the JSON that crosses between the simulator and the load
// generator: the answer of /metrics/summary, the timing extension of a usage
// event, and the headers that ask for them. It knows neither half.
package wire

import "llmsim-bench/internal/hist"

// Request headers that the simulator understands beyond OpenAI's.
const (
	// HeaderPhase names the phase a request belongs to, "<run>/<phase>".
	HeaderPhase = "X-LLMSim-Phase"
	// HeaderTiming, set to "1", asks for the request's instants in its usage event.
	HeaderTiming = "X-LLMSim-Timing"
)

// ServerName is the simulator's Server header; a client knows the simulator by it.
const ServerName = "llmsim-bench"

// SummarySchema is the version of Summary's form.
const SummarySchema = 1

// Summary is the answer of GET /metrics/summary.
type Summary struct {
	Schema int `json:"schema"`
	// Phase is the phase asked for; empty: every request since the last reset.
	Phase string `json:"phase,omitempty"`
	// TimeScale is how fast the simulated timeline runs beside the wall clock.
	// Simulated columns are on the timeline, all others in wall time.
	TimeScale float64          `json:"time_scale"`
	Models    map[string]Model `json:"models"`
	// Connections counts what the server accepted, whatever was sent on it.
	Connections *Connections `json:"connections,omitempty"`
}

// Connections counts connections since the server began.
type Connections struct {
	Accepted int64 `json:"accepted"`
	Open     int64 `json:"open"`
}

// Model is one model's part of a Summary.
type Model struct {
	Engine   string   `json:"engine"`
	Requests Requests `json:"requests"`
	// Tokens of the requests that ended, completed or not.
	PromptTokens int64 `json:"prompt_tokens"`
	OutputTokens int64 `json:"output_tokens"`
	// BackpressuredTokens waited in a slow reader's own buffer; they have no lag.
	BackpressuredTokens int64 `json:"backpressured_tokens"`
	// Metrics by name: ttft, itl, tpot, e2e, queue (server and simulated) and lag
	// (server).
	Metrics map[string]Columns `json:"metrics"`
	// Steps is nil for engines that have no steps; of several replicas it is the
	// sum.
	Steps *Steps `json:"steps,omitempty"`
	// Replicas has an entry for each of several; a model of one has none.
	Replicas []Replica `json:"replicas,omitempty"`
}

// Replica is one replica's share of a model.
type Replica struct {
	// Requests that were given to it, and those of them that run still.
	Requests int64  `json:"requests"`
	Running  int64  `json:"running"`
	Steps    *Steps `json:"steps,omitempty"`
}

// Steps is what a scheduler's steps came to.
type Steps struct {
	Count int64 `json:"count"`
	// Duration in ms; BatchSize in sequences, Tokens in tokens scheduled, KVUse as
	// the share of blocks in use after scheduling, 0 to 1. Each step counts once.
	Duration  hist.Stats `json:"duration_ms"`
	BatchSize hist.Stats `json:"batch_size"`
	Tokens    hist.Stats `json:"scheduled_tokens"`
	KVUse     hist.Stats `json:"kv_use"`
	// Preemptions counts how often a sequence lost its blocks.
	Preemptions int64       `json:"preemptions"`
	PrefixCache PrefixCache `json:"prefix_cache"`
	// Late is nil in virtual time, where nothing is.
	Late *LateArrivals `json:"late_arrivals,omitempty"`
	// Series shows the same over time.
	Series []Sample `json:"series,omitempty"`
}

// LateArrivals counts where the wall clock moved a decision: a request was still
// being parsed when a step that should have seen it had to be decided.
type LateArrivals struct {
	// GraceExpired counts decisions that could wait no longer.
	GraceExpired int64 `json:"grace_expired"`
	// Requests counts those that a later decision saw, MaxMS by how much later at most.
	Requests int64   `json:"requests"`
	MaxMS    float64 `json:"max_ms"`
}

// PrefixCache counts lookups, in requests and in tokens, of requests that had
// not been preempted.
type PrefixCache struct {
	Requests int64 `json:"requests"`
	Queries  int64 `json:"queried_tokens"`
	Hits     int64 `json:"hit_tokens"`
}

// Sample is one interval of a series; the figures are means over its steps, but
// for the counts.
type Sample struct {
	FromS       float64 `json:"from_s"` // since the series began
	Steps       int64   `json:"steps"`
	BusyMS      float64 `json:"busy_ms"` // sum of the steps' durations
	BatchSize   float64 `json:"batch_size"`
	Waiting     float64 `json:"waiting"`
	KVUse       float64 `json:"kv_use"`
	QueueMS     float64 `json:"queue_ms"` // of the requests first admitted in it
	Admitted    int64   `json:"admitted"`
	Preemptions int64   `json:"preemptions"`
}

// Requests counts a model's requests: Received = Completed + Running + the sum of
// Aborted. Those in Rejected, by reason, were refused before an answer began and
// are in none of the others.
type Requests struct {
	Received  int64            `json:"received"`
	Completed int64            `json:"completed"`
	Running   int64            `json:"running"`
	Aborted   map[string]int64 `json:"aborted,omitempty"`
	Rejected  map[string]int64 `json:"rejected,omitempty"`
}

// Columns sets the three views of one metric side by side; a view that does
// not exist is absent, never zero.
type Columns struct {
	Client    *hist.Stats `json:"client,omitempty"`
	Server    *hist.Stats `json:"server,omitempty"`
	Simulated *hist.Stats `json:"simulated,omitempty"`
}

// TimingKey is the key of Timing in the usage event.
const TimingKey = "llmsim_timing"

// Timing is what the simulator knows of one request's tokens.
type Timing struct {
	Simulated Instants `json:"simulated"`
	Server    Instants `json:"server"`
}

// Instants are nanoseconds after the arrival of the request's last byte: of the
// simulated timeline where they are simulated, else of the wall clock.
type Instants struct {
	FirstNS int64 `json:"first_ns"`
	LastNS  int64 `json:"last_ns"`
}
