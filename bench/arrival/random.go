package arrival

import (
	"math"
	"math/rand/v2"
)

// The draws of the processes are kept apart from each other where they are given
// the same seed.
const (
	poissonStream = 0x706f6973736f6e31
	gammaStream   = 0x67616d6d61313131
	rampStream    = 0x72616d7031313131
	stepsStream   = 0x7374657073313131
)

// The samplers below turn the bits of a generator into numbers in a way that is
// ours to keep, unlike those of math/rand/v2.

// uniform draws from the open interval (0, 1).
func uniform(pcg *rand.PCG) float64 {
	const steps = 1 << 53
	return (float64(pcg.Uint64()>>11) + 0.5) / steps
}

// exponential draws from the exponential distribution of mean 1 by inversion:
// -ln(u).
func exponential(pcg *rand.PCG) float64 { return -math.Log(uniform(pcg)) }

// normal draws from the standard normal distribution (Box and Muller, "A note on
// the generation of random normal deviates", Annals of Mathematical Statistics
// 29(2), 1958). The second number of each pair is not used.
func normal(pcg *rand.PCG) float64 {
	radius := math.Sqrt(2 * exponential(pcg))
	return radius * math.Cos(2*math.Pi*uniform(pcg))
}

// gammaVariate draws from the gamma distribution of a shape and scale 1, whose
// mean is the shape. From shape 1 on it is the method of Marsaglia and Tsang ("A
// simple method for generating gamma variables", ACM Transactions on Mathematical
// Software 26(3), 2000) without its squeeze; below, as they propose there, a draw
// of shape+1 times u^(1/shape).
func gammaVariate(pcg *rand.PCG, shape float64) float64 {
	if shape < 1 {
		return gammaVariate(pcg, shape+1) * math.Pow(uniform(pcg), 1/shape)
	}
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := normal(pcg)
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		if math.Log(uniform(pcg)) < x*x/2+d-d*v+d*math.Log(v) {
			return d * v
		}
	}
}
