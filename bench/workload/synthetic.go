package workload

import (
	"errors"
	"fmt"
)

// Shape says what synthetic requests look like.
type Shape struct {
	// Prompt is the length of the prompts by the server's own count, template
	// included.
	Prompt Lengths `json:"prompt_tokens"`
	// Output is how many tokens the requests ask for.
	Output Lengths `json:"output_tokens"`
	// SharedPrefix is how many tokens all prompts of a group start with. What the
	// server's template puts in front of every prompt comes on top. Past the
	// prefix, two prompts agree in no more than a few words, by chance.
	SharedPrefix int `json:"shared_prefix_tokens,omitzero"`
	// Groups is the number of different shared prefixes; each request belongs to
	// one of them at random. 0 is the same as 1.
	Groups int `json:"prefix_groups,omitzero"`
}

// Exactly returns the Shape of distinct prompts of one length that each ask for
// the same number of tokens.
func Exactly(promptTokens, outputTokens int) Shape {
	return Shape{Prompt: Fixed(promptTokens), Output: Fixed(outputTokens)}
}

// Check returns an error that names every value that is not possible, whatever
// the server.
func (s Shape) Check() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("workload: "+format, args...)) }
	if err := s.Prompt.Check(); err != nil {
		bad("prompts of %w", err)
	}
	if err := s.Output.Check(); err != nil {
		bad("outputs of %w", err)
	}
	if s.SharedPrefix < 0 || s.SharedPrefix > max(s.Prompt.Min, 0) {
		bad("a shared prefix of %d tokens is not possible: it must be 0 to %d, the length of the shortest prompt", s.SharedPrefix, s.Prompt.Min)
	}
	if s.Groups < 0 {
		bad("%d groups are not possible: it must be 1 or more, or 0 for one", s.Groups)
	}
	if s.Groups > 1 && s.SharedPrefix < 2 {
		bad("%d groups are not possible with a shared prefix of %d tokens: the first word is the same in all prompts, so it must be 2 or more", s.Groups, s.SharedPrefix)
	}
	return errors.Join(errs...)
}

// Synthetic makes prompts of an exact number of tokens. It is safe for concurrent
// use.
type Synthetic struct {
	words    words
	shape    Shape
	overhead int
}

// NewSynthetic returns a workload of requests that look as shape says to a server
// that c describes.
func NewSynthetic(seed uint64, c Calibration, shape Shape) (*Synthetic, error) {
	errs := []error{c.check(), shape.Check()}
	switch shortest := shape.Prompt.Min - c.Overhead; {
	case shape.Prompt.Min < 1: // told already
	case shortest < 1:
		errs = append(errs, fmt.Errorf("workload: prompts of %v tokens are not possible: the server adds %d of its own, so %d is the least", shape.Prompt, c.Overhead, c.Overhead+1))
	case shape.SharedPrefix > shortest:
		errs = append(errs, fmt.Errorf("workload: a shared prefix of %d tokens is not possible: the server adds %d of its own to the shortest prompt of %d, so %d is the most", shape.SharedPrefix, c.Overhead, shape.Prompt.Min, shortest))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &Synthetic{words: words{seed, c.Vocabulary}, shape: shape, overhead: c.Overhead}, nil
}

// AppendPrompt appends the text of prompt i to dst. The text depends on the seed
// and i alone. All of its words but the fixed first one and those of a shared
// prefix are drawn at random, so that a prefix cache finds nothing else to share
// between two prompts.
func (s *Synthetic) AppendPrompt(dst []byte, i int64) []byte {
	dst = append(dst, opening...)
	left := s.PromptTokens(i) - s.overhead - 1
	if shared := s.shape.SharedPrefix - 1; shared > 0 {
		prefix := s.words.source(prefixStream, s.group(i))
		dst = s.words.append(dst, &prefix, shared)
		left -= shared
	}
	own := s.words.source(promptStream, i)
	return s.words.append(dst, &own, left)
}

// group is which prefix prompt i has.
func (s *Synthetic) group(i int64) int64 {
	return int64(drawBelow(s.words.seed^groupStream, i, max(s.shape.Groups, 1)))
}

// PromptTokens returns how many tokens prompt i was made to have.
func (s *Synthetic) PromptTokens(i int64) int {
	return s.shape.Prompt.draw(s.words.seed^promptLengthStream, i)
}

// OutputTokens returns how many tokens request i asks for.
func (s *Synthetic) OutputTokens(i int64) int {
	return s.shape.Output.draw(s.words.seed^outputLengthStream, i)
}
