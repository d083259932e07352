package llm

import (
	"math"
	"math/rand/v2"

	"llmsim-bench/simserver/plan"
)

// Embedding is a vector of length 1 that stands for a text or its token ids: always
// the same for the same, and without meaning.
func Embedding(text string, ids []plan.TokenID, dimensions int) []float32 {
	random := rand.New(rand.NewPCG(uint64(newDigest(int64(promptHash(ids)), "embedding", text)), 0))
	numbers := make([]float64, dimensions)
	sum := 0.0
	for i := range numbers {
		numbers[i] = random.NormFloat64()
		sum += numbers[i] * numbers[i]
	}
	vector := make([]float32, dimensions)
	for i, x := range numbers {
		vector[i] = float32(x / math.Sqrt(sum))
	}
	return vector
}
