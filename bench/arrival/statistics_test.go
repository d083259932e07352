package arrival

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// Every statistical test below is at the 0.1 % level: of a thousand seeds a right
// sampler would fail with one. The seeds are fixed, so each test always passes or
// always fails.
const (
	ksCritical     = 1.95 // of √n times the Kolmogorov-Smirnov distance
	normalCritical = 3.29 // of a standard normal number, both sides
)

// exponentialCDF is that of the exponential distribution of mean 1.
func exponentialCDF(x float64) float64 { return 1 - math.Exp(-x) }

// gammaCDF is the regularized lower incomplete gamma function, by its series for
// small x and by its continued fraction for large x.
func gammaCDF(shape, x float64) float64 {
	if x <= 0 {
		return 0
	}
	logGamma, _ := math.Lgamma(shape)
	front := math.Exp(shape*math.Log(x) - x - logGamma)
	if x < shape+1 {
		term := 1 / shape
		sum := term
		for k := 1.0; term > sum*1e-15; k++ {
			term *= x / (shape + k)
			sum += term
		}
		return front * sum
	}
	// From the far end inwards, 1/(x+1-a - 1(1-a)/(x+3-a - 2(2-a)/(x+5-a - …))).
	tail := 0.0
	for k := 150.0; k > 0; k-- {
		tail = k * (k - shape) / (x + 2*k + 1 - shape - tail)
	}
	return 1 - front/(x+1-shape-tail)
}

func TestGammaCDF(t *testing.T) {
	for _, x := range []float64{0.001, 0.1, 0.5, 1, 2, 5, 10, 30} {
		for shape, want := range map[float64]float64{
			0.5: math.Erf(math.Sqrt(x)),
			1:   1 - math.Exp(-x),
			3:   1 - math.Exp(-x)*(1+x+x*x/2),
		} {
			if got := gammaCDF(shape, x); math.Abs(got-want) > 1e-12 {
				t.Errorf("shape %v at %v: %v, want %v", shape, x, got, want)
			}
		}
	}
}

// followsCDF is a Kolmogorov-Smirnov test.
func followsCDF(samples []float64, cdf func(float64) float64) error {
	samples = slices.Sorted(slices.Values(samples))
	n := float64(len(samples))
	worst := 0.0
	for i, x := range samples {
		want := cdf(x)
		worst = max(worst, want-float64(i)/n, float64(i+1)/n-want)
	}
	if limit := ksCritical / math.Sqrt(n); !(worst <= limit) {
		return fmt.Errorf("the distance from the distribution is %.4f in %v samples, more than %.4f", worst, n, limit)
	}
	return nil
}

// hasDispersion is a chi-square test of the counts in equal slices of a process,
// each of which expects mean arrivals with a variance of dispersion times that:
// 1 for a Poisson process. The statistic is compared through Fisher's
// √(2χ²) − √(2n−1), which is a standard normal number.
func hasDispersion(counts []float64, mean, dispersion float64) error {
	chi2 := 0.0
	for _, c := range counts {
		chi2 += (c - mean) * (c - mean) / (mean * dispersion)
	}
	n := float64(len(counts)) // the mean is known: no degree of freedom is lost
	if z := math.Sqrt(2*chi2) - math.Sqrt(2*n-1); !(math.Abs(z) <= normalCritical) {
		return fmt.Errorf("the index of dispersion is %.3f, which is %.1f standard errors from %v", chi2/n*dispersion, z, dispersion)
	}
	return nil
}

// hasMean tests the total of counts whose sum has a variance of dispersion times
// its mean.
func hasMean(counts []float64, mean, dispersion float64) error {
	total, want := 0.0, mean*float64(len(counts))
	for _, c := range counts {
		total += c
	}
	if z := (total - want) / math.Sqrt(want*dispersion); !(math.Abs(z) <= normalCritical) {
		return fmt.Errorf("%v arrivals are %.1f standard errors from %.1f", total, z, want)
	}
	return nil
}

// countsIn counts ascending points in n equal slices of [0, end).
func countsIn(points []float64, end float64, n int) []float64 {
	counts := make([]float64, n)
	for _, x := range points {
		counts[min(int(x/end*float64(n)), n-1)]++
	}
	return counts
}

// gapsOf returns the distances between ascending points.
func gapsOf(points []float64) []float64 {
	gaps := make([]float64, 0, len(points))
	for i := range points[1:] {
		gaps = append(gaps, points[i+1]-points[i])
	}
	return gaps
}
