package openai

import (
	"math"

	"llmsim-bench/internal/wire"
)

// Never is an instant that did not come.
const Never = math.MinInt64

// Verdict says what became of an answer.
type Verdict int

// The verdicts. Only Complete is a success.
const (
	// Complete: tokens came, and the terminal event or every finish reason; or an
	// embedding came whole.
	Complete Verdict = iota
	// Empty: it ended in order, but no token or embedding came.
	Empty
	// Truncated: it ended before its terminal event.
	Truncated
	// ServerError: the server reported an error inside it.
	ServerError
	// Malformed: it is not what the dialect allows.
	Malformed
)

// Result is what a client knows of one answer. Whatever the verdict, it counts
// the tokens that did come.
//
// An embedding has no tokens: OutputTokens is 0, Tokens empty and Out Never, and
// First and Last, like End, are when its body was complete.
type Result struct {
	Verdict Verdict
	// Message says more about a verdict other than Complete.
	Message string

	First int64 // first token-bearing event
	Out   int64 // first token that is not reasoning
	Last  int64 // last token-bearing event
	End   int64 // terminal event or end of the body
	// FirstCame, OutCame and LastCame tell how exactly First, Out and Last are
	// known; zero where those are Never. They may belong to different choices.
	FirstCame, OutCame, LastCame Received

	// Tokens holds the token-bearing events of the first choice, in order.
	Tokens []TokenEvent
	// Estimated says that OutputTokens had to be spread evenly over the events.
	Estimated bool
	// OutputTokens counts all choices: the server's usage where FromUsage, else
	// the token-bearing events.
	OutputTokens int
	FromUsage    bool
	PromptTokens int // 0: not said
	CachedTokens int
	Timing       *wire.Timing
	// Choices is how many choices spoke.
	Choices int
	// Text is the answer's text by the first choice, without reasoning, refusals
	// and tool calls, where Answer.KeepText asked for it.
	Text string

	// ShortOutput: complete, but fewer tokens than the exact length asked for.
	ShortOutput bool
	// TokenMismatch: usage counts fewer tokens than there were token-bearing events.
	TokenMismatch bool
	// Clumped: at least 10 token-bearing events, more than half of which came in
	// with the one before, as behind a proxy that buffers.
	Clumped bool
	// NotStreamed: the answer came as one JSON body, though the API streams.
	NotStreamed bool
}

// Received says when bytes came, as instants of the caller's clock. They came
// after NotBefore and no later than At; where the two are equal, at that instant.
type Received struct {
	NotBefore int64
	// At is when the newest of them came.
	At int64
	// Read is when the read that brought them returned.
	Read int64
	// Waited says that the reader was there before them.
	Waited bool
}

// TokenEvent is a token-bearing event: when it came and how many tokens it
// carried, a fraction where they are estimated.
type TokenEvent struct {
	Received
	Tokens float64
}
