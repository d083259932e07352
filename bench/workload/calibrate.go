package workload

import (
	"fmt"
	"slices"
	"strings"
)

// Limits of a calibration.
const (
	minProbeWords  = 32 // shorter ones would make too many probes
	maxProbes      = 128
	verifyPromptID = -1 // no request's
)

// Calibrate finds out how a server counts prompts, so that prompts of exactly
// promptTokens tokens can be made for it: the constant overhead, and those words
// of vocabulary that are one token each. count sends a prompt and returns the
// number of prompt tokens the server reports.
//
// A probe has at most maxProbe tokens where every word is one token, so that it
// fits the server's context, but 32 words in any case.
//
// Where every word is one token, it takes as many counts as the vocabulary makes
// probes, and three more; at most log2(maxProbe) more for each word that is not.
// Past 128 counts what is still in doubt is left out. A last count checks a whole
// prompt. The error says what the server counted.
func Calibrate(vocabulary []string, seed uint64, promptTokens, maxProbe int, count func(text string) (promptTokens int, err error)) (Calibration, error) {
	p := prober{count: count}
	alone, err := p.ask(opening)
	if err != nil {
		return Calibration{}, err
	}
	if alone < 1 {
		return Calibration{}, fmt.Errorf("calibrate: the server counts %d tokens for the prompt %q; it must be 1 or more", alone, opening)
	}
	p.overhead = alone - 1
	if promptTokens <= p.overhead {
		return Calibration{}, fmt.Errorf("calibrate: prompts of %d tokens are not possible: the server counts %d for the prompt %q", promptTokens, alone, opening)
	}
	words, err := p.singleTokenWords(vocabulary, max(maxProbe-alone, minProbeWords))
	if err != nil {
		return Calibration{}, err
	}
	c := Calibration{Vocabulary: words, Overhead: p.overhead}
	if err := p.verify(c, seed, promptTokens); err != nil {
		return Calibration{}, err
	}
	return c, nil
}

// prober asks for token counts and keeps what they have in common.
type prober struct {
	count    func(text string) (int, error)
	asked    int
	overhead int
}

func (p *prober) ask(text string) (int, error) {
	p.asked++
	n, err := p.count(text)
	if err != nil {
		return 0, fmt.Errorf("calibrate: count the tokens of a prompt of %d words: %w", strings.Count(text, " ")+1, err)
	}
	return n, nil
}

// segment is a run of words that have surplus tokens more than one each.
type segment struct {
	words   []string
	surplus int
}

// before orders segments by how promising they are: fewest surplus tokens a word.
func (s segment) before(o segment) int {
	return s.surplus*len(o.words) - o.surplus*len(s.words)
}

// measure asks for the count of words after the opening word.
func (p *prober) measure(words []string) (segment, error) {
	n, err := p.ask(opening + " " + strings.Join(words, " "))
	if err != nil {
		return segment{}, err
	}
	s := segment{words, n - p.overhead - 1 - len(words)}
	if s.surplus < 0 {
		return segment{}, fmt.Errorf("calibrate: the server counts %d tokens for a prompt of %d words, though it counts %d for one word alone; prompts of an exact length need a server that counts at least one token a word",
			n, len(words)+1, p.overhead+1)
	}
	return s, nil
}

// singleTokenWords returns the words that are one token each, by halving the
// segments that hold others, the most promising first. No probe has more than
// atOnce words after the opening one.
func (p *prober) singleTokenWords(vocabulary []string, atOnce int) ([]string, error) {
	var single []string
	var open []segment
	counted := 0
	settle := func(s segment) {
		switch {
		case s.surplus == 0:
			single = append(single, s.words...)
		case len(s.words) > 1:
			open = append(open, s)
		}
	}
	for words := range slices.Chunk(vocabulary, atOnce) {
		s, err := p.measure(words)
		if err != nil {
			return nil, err
		}
		counted += len(s.words) + s.surplus
		settle(s)
	}
	for len(open) > 0 && p.asked < maxProbes {
		best := slices.MinFunc(open, segment.before)
		open = slices.DeleteFunc(open, func(s segment) bool { return &s.words[0] == &best.words[0] })
		half := len(best.words) / 2
		left, err := p.measure(best.words[:half])
		if err != nil {
			return nil, err
		}
		right := segment{best.words[half:], best.surplus - left.surplus}
		if right.surplus < 0 {
			return nil, fmt.Errorf("calibrate: the server counts %d tokens for %d words and %d for the first %d of them alone; prompts of an exact length need a server whose counts add up",
				len(best.words)+best.surplus, len(best.words), len(left.words)+left.surplus, len(left.words))
		}
		settle(left)
		settle(right)
	}
	if len(single) < minVocabulary {
		return nil, fmt.Errorf("calibrate: only %d of %d common words are one token each for this server, %d are needed; it counts %d tokens for all of them",
			len(single), len(vocabulary), minVocabulary, counted)
	}
	return single, nil
}

// verify asks for the count of a prompt as requests will carry it.
func (p *prober) verify(c Calibration, seed uint64, promptTokens int) error {
	s, err := NewSynthetic(seed, c, Exactly(promptTokens, 1))
	if err != nil {
		return err
	}
	n, err := p.ask(string(s.AppendPrompt(nil, verifyPromptID)))
	if err != nil {
		return err
	}
	if n != promptTokens {
		return fmt.Errorf("calibrate: the server counts %d tokens for a prompt that was made to have %d (%d words and %d tokens of the server's own); its counts are not constant or do not add up",
			n, promptTokens, promptTokens-c.Overhead, c.Overhead)
	}
	return nil
}
