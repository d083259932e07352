// Package workload says what requests ask. A seed, lengths and what is known of
// the server's tokenizer go in; prompts and output lengths come out. It knows no
// time and sends nothing: where it needs the server's token counts, it is given
// a function that asks for them.
package workload

import (
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
)

// minVocabulary is the smallest number of words that prompts are made of. Seven
// bits a word leave no realistic chance that two prompts share more than their
// first few words.
const minVocabulary = 128

// promptStream keeps the draws of prompts apart from other draws that are made
// from the same seed.
const promptStream = 0x70726f6d70747331

// Calibration is what prompts of an exact length need to know of the server.
type Calibration struct {
	// Vocabulary holds words that are one token each after a space.
	Vocabulary []string
	// Overhead is how many tokens more than words the server counts for a prompt
	// that starts with the opening word: its chat template's, mostly.
	Overhead int
}

// Uncalibrated is the Calibration for a server that counts one token a word and
// adds none of its own.
func Uncalibrated() Calibration { return Calibration{Vocabulary: Vocabulary()} }

// Synthetic makes distinct prompts of an exact number of tokens. It is safe for
// concurrent use.
type Synthetic struct {
	seed         uint64
	vocabulary   []string
	words        int // a prompt's, the opening word included
	promptTokens int
	outputTokens int
}

// NewSynthetic returns a workload of requests with promptTokens tokens by the
// server's count, template included, that each ask for outputTokens tokens.
func NewSynthetic(seed uint64, c Calibration, promptTokens, outputTokens int) (*Synthetic, error) {
	var errs []error
	if c.Overhead < 0 {
		errs = append(errs, fmt.Errorf("workload: a template overhead of %d tokens is not possible: it must be 0 or more", c.Overhead))
	}
	if n := len(c.Vocabulary); n < minVocabulary {
		errs = append(errs, fmt.Errorf("workload: a vocabulary of %d words is too small for distinct prompts: it must have %d or more", n, minVocabulary))
	}
	if promptTokens <= c.Overhead {
		errs = append(errs, fmt.Errorf("workload: prompts of %d tokens are not possible: the server adds %d of its own, so %d is the least", promptTokens, c.Overhead, c.Overhead+1))
	}
	if outputTokens < 1 {
		errs = append(errs, fmt.Errorf("workload: %d output tokens are not possible: it must be 1 or more", outputTokens))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &Synthetic{
		seed: seed, vocabulary: c.Vocabulary,
		words: promptTokens - c.Overhead, promptTokens: promptTokens, outputTokens: outputTokens,
	}, nil
}

// AppendPrompt appends the text of prompt i to dst. The text depends on the seed
// and i alone. All of its words but the fixed first one are drawn at random, so
// that a prefix cache finds nothing to share between two prompts.
func (s *Synthetic) AppendPrompt(dst []byte, i int64) []byte {
	var pcg rand.PCG
	pcg.Seed(s.seed^promptStream, scramble(uint64(i)))
	dst = append(dst, opening...)
	for range s.words - 1 {
		// The high word of a product maps 64 random bits onto [0, n).
		k, _ := bits.Mul64(pcg.Uint64(), uint64(len(s.vocabulary)))
		dst = append(dst, ' ')
		dst = append(dst, s.vocabulary[k]...)
	}
	return dst
}

// PromptTokens returns how many tokens prompt i was made to have.
func (s *Synthetic) PromptTokens(int64) int { return s.promptTokens }

// OutputTokens returns how many tokens request i asks for.
func (s *Synthetic) OutputTokens(int64) int { return s.outputTokens }

// scramble spreads neighbouring numbers over all 64 bits, so that neighbouring
// prompts start from unrelated states (the finalizer of SplitMix64, Steele, Lea
// and Flood, OOPSLA 2014).
func scramble(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
