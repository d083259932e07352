// Package workload says what requests ask. A seed, lengths and what is known of
// the server's tokenizer go in; prompts and output lengths come out. It sends
// nothing: where it needs the server's token counts, it is given a function that
// asks for them. Times it knows only where it reads them from a trace.
package workload

import (
	"errors"
	"fmt"
)

// minVocabulary is the smallest number of words that prompts are made of. Seven
// bits a word leave no realistic chance that two prompts share more than their
// first few words.
const minVocabulary = 128

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

func (c Calibration) check() error {
	var errs []error
	if c.Overhead < 0 {
		errs = append(errs, fmt.Errorf("workload: a template overhead of %d tokens is not possible: it must be 0 or more", c.Overhead))
	}
	if n := len(c.Vocabulary); n < minVocabulary {
		errs = append(errs, fmt.Errorf("workload: a vocabulary of %d words is too small for distinct prompts: it must have %d or more", n, minVocabulary))
	}
	return errors.Join(errs...)
}
