package workload

import (
	"math/rand/v2"

	"llmsim-bench/internal/splitmix"
)

// The draws for different purposes are kept apart from each other where they are
// made from the same seed.
const (
	promptStream       = 0x70726f6d70747331
	promptLengthStream = 0x70726f6d706c656e
	outputLengthStream = 0x6f75747075746c65
	prefixStream       = 0x7072656669786573
	groupStream        = 0x67726f7570733131
	blockStream        = 0x626c6f636b733131
)

// words draws texts. The text of a stream and a number is always the same, and a
// longer one starts with a shorter one.
type words struct {
	seed       uint64
	vocabulary []string
}

// source returns the generator of a text.
func (w *words) source(stream uint64, number int64) rand.PCG {
	var pcg rand.PCG
	pcg.Seed(w.seed^stream, scramble(uint64(number)))
	return pcg
}

// append appends the next n words of a text, each after a space.
func (w *words) append(dst []byte, pcg *rand.PCG, n int) []byte {
	for range n {
		dst = append(dst, ' ')
		dst = append(dst, w.vocabulary[below(pcg, len(w.vocabulary))]...)
	}
	return dst
}

// scramble spreads neighbouring numbers over all 64 bits, so that neighbouring
// prompts start from unrelated states.
func scramble(x uint64) uint64 { return splitmix.Mix(x + splitmix.Gamma) }
