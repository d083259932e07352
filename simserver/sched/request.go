package sched

import "fmt"

// Request is what a Scheduler is told of one sequence.
type Request struct {
	// Name stands for the request in errors, and orders requests of equal priority
	// and arrival under the Priority policy. Equal names keep the order of Add.
	Name string
	// Prompt holds the ids of the prompt's tokens. Add reads them and does not keep
	// the slice. Without prefix caching only their number counts.
	Prompt []uint32
	// Output holds the ids of the answer's tokens. Admission never looks at its
	// length: it only ends the sequence. The slice must stay as it is until the
	// request has ended. Without prefix caching only its length counts.
	Output []uint32
	// Stops says that the answer ends by itself, with FinishStop, after its last
	// token. Without it Output must reach to MaxTokens or to the end of the context.
	Stops bool
	// MaxTokens is how many output tokens the client allows. Past the end of the
	// context it is cut to it.
	MaxTokens int
	// Priority and ArrivalNS order requests under the Priority policy: the smaller
	// is served first. ArrivalNS is in nanoseconds of any clock.
	Priority  int
	ArrivalNS int64
}

// Output is one output token.
type Output struct {
	ID ID
	// Index is its place among the request's outputs, from 0.
	Index int32
	// Finish says whether it is the last, and why. The ID has then ended.
	Finish FinishReason
}

// FinishReason says why a sequence ended, if it did.
type FinishReason uint8

const (
	// Unfinished: more tokens follow.
	Unfinished FinishReason = iota
	// FinishStop: the answer ended by itself.
	FinishStop
	// FinishLength: MaxTokens or MaxModelLen was reached.
	FinishLength
)

// String is OpenAI's name of the reason.
func (f FinishReason) String() string {
	switch f {
	case FinishStop:
		return "stop"
	case FinishLength:
		return "length"
	default:
		return ""
	}
}

// allowed is how many output tokens r may have in a context of maxModelLen.
func (r *Request) allowed(maxModelLen int) int {
	return min(r.MaxTokens, maxModelLen-len(r.Prompt))
}

// validate says why r can never be served under c.
func (r *Request) validate(c *Config) error {
	prompt := len(r.Prompt)
	if prompt < 1 {
		return fmt.Errorf("request %q: the prompt is empty, it must have at least 1 token", r.Name)
	}
	if r.MaxTokens < 1 {
		return fmt.Errorf("request %q: MaxTokens is %d, must be at least 1", r.Name, r.MaxTokens)
	}
	if len(r.Output) < 1 {
		return fmt.Errorf("request %q: Output is empty, it must have at least 1 token", r.Name)
	}
	allowed := r.allowed(c.MaxModelLen)
	if err := c.CheckLengths(prompt, min(len(r.Output), allowed)); err != nil {
		return fmt.Errorf("request %q: %w", r.Name, err)
	}
	if !r.Stops && len(r.Output) < allowed {
		return fmt.Errorf("request %q: Output has %d tokens and does not stop there, but %d are allowed: it must have as many",
			r.Name, len(r.Output), allowed)
	}
	return nil
}

// CheckLengths says why a request of so many tokens could never be served: the
// context or the cache is too small for it.
func (c *Config) CheckLengths(prompt, outputs int) error {
	if prompt >= c.MaxModelLen {
		return fmt.Errorf("a prompt of %d tokens leaves no room for an output in a context of %d (MaxModelLen)", prompt, c.MaxModelLen)
	}
	// The last token of a sequence is never computed.
	if need := ceilDiv(prompt+outputs-1, c.BlockSize); need > c.NumBlocks {
		return fmt.Errorf("%d prompt and %d output tokens need %d KV blocks of %d, the cache has %d",
			prompt, outputs, need, c.BlockSize, c.NumBlocks)
	}
	return nil
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }
