// Package record holds what the load generator knows of one request, and
// writes and reads it as JSON Lines. It computes nothing: package summary does.
package record

import (
	"encoding/json"
	"math"

	"llmsim-bench/internal/wire"
)

// Instant is a moment of the run: nanoseconds of the client's one monotonic
// clock since the run began.
type Instant int64

// Unset marks an instant that never came.
const Unset Instant = math.MinInt64

// IsZero reports whether the instant never came; JSON leaves such a one out.
func (i Instant) IsZero() bool { return i == Unset }

// Phases of a load point. Only what is due in the measured one is summarised.
const (
	PhaseWarmup  = "warmup"
	PhaseMeasure = "measure"
)

// Outcomes of a request.
const (
	OK        = "ok"
	Failed    = "failed"
	Cancelled = "cancelled"
	Dropped   = "dropped" // never sent
)

// Kinds of failure.
const (
	KindConnect       = "connect"
	KindTimeout       = "timeout"
	KindNoProgress    = "no_progress" // tokens came, then none for too long
	KindHTTP4xx       = "http_4xx"
	KindHTTP5xx       = "http_5xx"
	KindRateLimited   = "rate_limited"
	KindReset         = "reset"
	KindTruncated     = "truncated"
	KindEmpty         = "empty"
	KindErrorInStream = "error_in_stream"
	KindProtocol      = "protocol"
)

// Kinds of cancellation: why the client left. A request that the end of the run
// cut off has none.
const (
	LeftAfterTokens = "after_tokens"
	LeftAfterTime   = "after_time"
)

// Flags of an ok record that deserves a second look.
const (
	FlagShortOutput   = "short_output"   // fewer tokens than asked, and an exact length was asked
	FlagTokenMismatch = "token_mismatch" // usage counts fewer tokens than there were token-bearing events
	FlagClumped       = "clumped"        // most events share their receive time with the one before
	FlagNotStreamed   = "not_streamed"
)

// Sources of OutputTokens.
const (
	FromUsage  = "usage"
	FromEvents = "events"
)

// Request is one request's record.
type Request struct {
	ID int64 `json:"id"`
	// Point is the load point's number in its run, from 1 on.
	Point int    `json:"point,omitzero"`
	Phase string `json:"phase"`

	// The instants, in the order in which they come.
	Sched    Instant `json:"sched_ns,omitzero"`    // planned arrival
	Dispatch Instant `json:"dispatch_ns,omitzero"` // its goroutine runs
	Slot     Instant `json:"slot_ns,omitzero"`     // allowed past the in-flight cap
	Conn     Instant `json:"conn_ns,omitzero"`     // connection in hand
	Sent     Instant `json:"sent_ns,omitzero"`     // just before the write of the last request byte
	Header   Instant `json:"header_ns,omitzero"`   // status line read
	First    Instant `json:"first_ns,omitzero"`    // first token-bearing event
	Out      Instant `json:"out_ns,omitzero"`      // first token that is not reasoning
	Last     Instant `json:"last_ns,omitzero"`     // last token-bearing event
	End      Instant `json:"end_ns,omitzero"`      // terminal event or end of the body; of a failed request, when it failed

	Outcome string   `json:"outcome"`
	Kind    string   `json:"kind,omitempty"`
	Error   string   `json:"error,omitempty"`
	Status  int      `json:"status,omitempty"`
	Flags   []string `json:"flags,omitempty"`
	// Reused says that the request went out on a connection that had served one before.
	Reused bool `json:"reused,omitempty"`
	// RetryAfter is the server's Retry-After in seconds; nil: it sent none.
	RetryAfter *float64 `json:"retry_after_s,omitempty"`
	// Retried holds the kind of failure of each attempt before this one. Sched,
	// Dispatch and Slot are the first attempt's, all else is the last one's.
	Retried []string `json:"retried,omitempty"`

	PromptTokensAsked int `json:"prompt_tokens_asked,omitempty"` // how long the prompt was made; 0: not known
	PromptTokens      int `json:"prompt_tokens,omitempty"`       // the server's count; 0: not said
	CachedTokens      int `json:"cached_tokens,omitempty"`       // of PromptTokens, found in the server's prefix cache
	OutputTokens      int `json:"output_tokens,omitempty"`
	// OutputTokensFrom says where OutputTokens comes from.
	OutputTokensFrom string `json:"output_tokens_from,omitempty"`
	// TokensEstimated says that usage had to be spread evenly over the events.
	TokensEstimated bool `json:"tokens_estimated,omitempty"`

	// FirstCame and LastCame say how exactly First and Last are known.
	FirstCame Came `json:"first_came,omitzero"`
	LastCame  Came `json:"last_came,omitzero"`
	// Events holds the token-bearing events of the first choice, in order.
	Events []Event `json:"events,omitempty"`
	// Text is the first choice's answer, where it was asked to be kept.
	Text string `json:"text,omitempty"`
	// Timing is the simulator's own account, where there is one.
	Timing *wire.Timing `json:"timing,omitempty"`
}

// Event is one token-bearing event.
type Event struct {
	// At is when it came, by the kernel's stamp where there is one.
	At     Instant `json:"at_ns"`
	Tokens float64 `json:"tokens"`
	Came
}

// Came says how exactly the instant is known at which an event came.
type Came struct {
	// Width is how many nanoseconds before the instant it may have come: others
	// lay unread behind it, whose instant this is, or the instant is when it was
	// read. 0: the instant is exact.
	Width int64 `json:"width_ns,omitempty"`
	// Unread is how many nanoseconds after the instant it was read; 0: the instant
	// is no kernel's stamp, but when it was read.
	Unread int64 `json:"unread_ns,omitempty"`
	// Away says that the client was not waiting for it.
	Away bool `json:"away,omitempty"`
}

// New returns a record whose instants are all unset.
func New() *Request {
	r := &Request{}
	r.reset()
	return r
}

func (r *Request) reset() {
	*r = Request{
		Sched: Unset, Dispatch: Unset, Slot: Unset, Conn: Unset, Sent: Unset,
		Header: Unset, First: Unset, Out: Unset, Last: Unset, End: Unset,
	}
}

// UnmarshalJSON reads a record; an instant that is absent is Unset.
func (r *Request) UnmarshalJSON(data []byte) error {
	type plain Request
	r.reset()
	return json.Unmarshal(data, (*plain)(r))
}
