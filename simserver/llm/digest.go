package llm

import "llmsim-bench/internal/splitmix"

// digest stands for the seed, entry and text of a request; every choice that an
// answer leaves open is drawn from it. It is the same in every process and release.
type digest uint64

// newDigest is FNV-1a, 64 bits, over the seed's eight bytes (lowest first), the
// entry's id, a zero byte, and the text without the white space around it.
func newDigest(seed int64, entry, text string) digest {
	h := uint64(14695981039346656037)
	add := func(c byte) { h = (h ^ uint64(c)) * 1099511628211 }
	for i := range 8 {
		add(byte(uint64(seed) >> (8 * i)))
	}
	for i := range len(entry) {
		add(entry[i])
	}
	add(0)
	for i := range len(text) {
		add(text[i])
	}
	return digest(h)
}

// The draws of a digest, each for one choice.
const (
	drawVariant = iota
	drawReasoningLength
	drawReasoning
	drawContentLength
	drawContent
	drawExtension
	drawToolCalls // and on, one for each call

	drawTool    = 1<<20 - 1
	drawChoices = 1 << 20 // and on, one for each choice
)

// ofChoice is the digest of a request's i-th choice; the first has the request's own.
func (d digest) ofChoice(i int) digest {
	if i == 0 {
		return d
	}
	return digest(d.draw(drawChoices + i))
}

// draw is the n-th number of the digest: SplitMix64's, whose steps make numbers
// out of neighbouring ones that have nothing in common.
func (d digest) draw(n int) uint64 {
	return splitmix.Mix(uint64(d) + (uint64(n)+1)*splitmix.Gamma)
}
