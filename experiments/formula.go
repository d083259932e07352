package experiments

import "math"

// The base model's figures, for formulas. They are written down here a second
// time, so that a formula does not depend on what it checks.
const (
	parameters      = 6.74e9
	weightBytes     = 2 * parameters
	kvBytesPerToken = 512 * 1024.0
	bytesPerSecond  = 3000e9
	flopsPerSecond  = 989e12
	kvBlocks        = 7609
	blockTokens     = 16
	batchTokens     = 8192
)

// stepMS is how long a step takes, in milliseconds, that computes so many tokens
// and reads the KV of so many: the slower of compute and memory.
func stepMS(tokens, kvTokens float64) float64 {
	return max(computeMS(tokens), (weightBytes+kvTokens*kvBytesPerToken)/bytesPerSecond*1e3)
}

func computeMS(tokens float64) float64 { return 2 * parameters * tokens / flopsPerSecond * 1e3 }

// decodeMS is the step of a batch that decodes at a mean context, which counts the
// step's own tokens.
func decodeMS(batch, meanContext float64) float64 { return stepMS(batch, batch*meanContext) }

// blocksOf is how many KV blocks a number of tokens takes.
func blocksOf(tokens float64) float64 { return math.Ceil(tokens / blockTokens) }
