package arrival

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// isUnitPoisson tests whether ascending points in [0, end) are a Poisson process
// of rate 1, by their gaps, by the counts in slices and by their number.
func isUnitPoisson(points []float64, end float64) error {
	const perSlice = 20
	slices := int(end / perSlice)
	counts := countsIn(points, end, slices)
	mean := end / float64(slices)
	return errors.Join(
		prefix("gaps", followsCDF(gapsOf(points), exponentialCDF)),
		prefix("counts", hasDispersion(counts, mean, 1)),
		prefix("mean", hasMean(counts, mean, 1)),
	)
}

func prefix(what string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// rescale moves each time to how many arrivals p expects by then, which makes any
// Poisson process one of rate 1.
func rescale(p Process, due []time.Duration, horizon time.Duration) (points []float64, end float64) {
	for _, d := range due {
		points = append(points, p.expectedBy(d, horizon))
	}
	return points, p.expectedBy(horizon, horizon)
}

// drawAll draws a whole schedule.
func drawAll(t testing.TB, p Process, horizon time.Duration, seed uint64) []time.Duration {
	t.Helper()
	s, err := p.Schedule(horizon, seed)
	if err != nil {
		t.Fatal(err)
	}
	var due []time.Duration
	for d, ok := s.Next(); ok; d, ok = s.Next() {
		due = append(due, d)
	}
	if d, ok := s.Next(); ok {
		t.Fatalf("%v went on at %v after its end", p, d)
	}
	return due
}

var poissonLike = []struct {
	process Process
	horizon time.Duration
}{
	{Process{Rate: 50}, 400 * time.Second},
	{Process{Kind: KindGamma, Rate: 50, Burstiness: 1}, 400 * time.Second},
	{Process{Kind: KindRamp, FromRate: 0, ToRate: 100}, 400 * time.Second},
	{Process{Kind: KindRamp, FromRate: 100, ToRate: 0}, 400 * time.Second},
	{Process{Kind: KindRamp, FromRate: 10, ToRate: 90}, 400 * time.Second},
	{Process{Kind: KindRamp, FromRate: 50, ToRate: 50}, 400 * time.Second},
	{Process{Kind: KindSteps, Steps: []Step{{10, 300 * time.Second}, {0, 50 * time.Second}, {200, 100 * time.Second}, {0, time.Second}}}, 451 * time.Second},
	{Process{Kind: KindSteps, Steps: []Step{{0, time.Second}, {50, 400 * time.Second}}}, 300 * time.Second}, // cut short
}

func TestPoissonProcessesArePoisson(t *testing.T) {
	for _, c := range poissonLike {
		for seed := range uint64(3) {
			points, end := rescale(c.process, drawAll(t, c.process, c.horizon, seed), c.horizon)
			if err := isUnitPoisson(points, end); err != nil {
				t.Errorf("%v, seed %d: %v", c.process, seed, err)
			}
		}
	}
}

// TestOthersAreNotPoisson holds that the test above can tell.
func TestOthersAreNotPoisson(t *testing.T) {
	const rate, horizon = 50.0, 400 * time.Second
	uniformGaps := func() (due []time.Duration) {
		pcg := rand.NewPCG(1, 2)
		for at := 0.0; at < horizon.Seconds(); at += 2 / rate * uniform(pcg) {
			due = append(due, time.Duration(at*1e9))
		}
		return due
	}
	flat := Process{Rate: rate}
	ramp := Process{Kind: KindRamp, FromRate: 10, ToRate: 90}
	steps := Process{Kind: KindSteps, Steps: []Step{{90, 200 * time.Second}, {10, 200 * time.Second}}}
	for name, c := range map[string]struct {
		claimed Process
		due     []time.Duration
	}{
		"uniform gaps":             {flat, uniformGaps()},
		"constant gaps":            {flat, drawAll(t, Process{Kind: KindConstant, Rate: rate}, horizon, 1)},
		"gamma 0.25":               {flat, drawAll(t, Process{Kind: KindGamma, Rate: rate, Burstiness: 0.25}, horizon, 1)},
		"gamma 0.9":                {flat, drawAll(t, Process{Kind: KindGamma, Rate: rate, Burstiness: 0.9}, horizon, 1)},
		"gamma 4":                  {flat, drawAll(t, Process{Kind: KindGamma, Rate: rate, Burstiness: 4}, horizon, 1)},
		"another rate":             {flat, drawAll(t, Process{Rate: rate * 1.05}, horizon, 1)},
		"a ramp as flat":           {flat, drawAll(t, ramp, horizon, 1)},
		"flat as a ramp":           {ramp, drawAll(t, flat, horizon, 1)},
		"a ramp the other way":     {ramp, drawAll(t, Process{Kind: KindRamp, FromRate: 90, ToRate: 10}, horizon, 1)},
		"steps as flat":            {flat, drawAll(t, steps, horizon, 1)},
		"flat as steps":            {steps, drawAll(t, flat, horizon, 1)},
		"steps in another order":   {steps, drawAll(t, Process{Kind: KindSteps, Steps: []Step{steps.Steps[1], steps.Steps[0]}}, horizon, 1)},
		"evenly spaced in a ramp":  {ramp, evenly(ramp, horizon)},
		"nothing in the last half": {flat, drawAll(t, flat, horizon/2, 1)},
	} {
		points, end := rescale(c.claimed, c.due, horizon)
		if err := isUnitPoisson(points, end); err == nil {
			t.Errorf("%s passes for %v", name, c.claimed)
		}
	}
}

// evenly returns times with one expected arrival between each two.
func evenly(p Process, horizon time.Duration) (due []time.Duration) {
	n := 0.0
	for at := time.Duration(0); at < horizon; at += 100 * time.Microsecond {
		if p.expectedBy(at, horizon) >= n {
			due = append(due, at)
			n++
		}
	}
	return due
}

// isUnitGamma tests whether points in [0, end) have gamma gaps of mean 1.
func isUnitGamma(points []float64, end, burstiness float64) error {
	slices := int(end / max(200, 200/burstiness)) // long ones: the dispersion is 1/burstiness in the limit
	counts := countsIn(points, end, slices)
	mean := end / float64(slices)
	return errors.Join(
		prefix("gaps", followsCDF(gapsOf(points), func(x float64) float64 { return gammaCDF(burstiness, x*burstiness) })),
		prefix("counts", hasDispersion(counts, mean, 1/burstiness)),
		prefix("mean", hasMean(counts, mean, 1/burstiness)),
	)
}

func TestGammaIsGamma(t *testing.T) {
	const rate, horizon = 50.0, 500 * time.Second
	draw := func(p Process, seed uint64) (points []float64) {
		points, _ = rescale(Process{Rate: rate}, drawAll(t, p, horizon, seed), horizon)
		return points
	}
	end := rate * horizon.Seconds()
	for _, burstiness := range []float64{0.5, 1, 2, 10} {
		for seed := range uint64(3) {
			if err := isUnitGamma(draw(Process{Kind: KindGamma, Rate: rate, Burstiness: burstiness}, seed), end, burstiness); err != nil {
				t.Errorf("burstiness %v, seed %d: %v", burstiness, seed, err)
			}
		}
		for name, p := range map[string]Process{
			"constant":           {Kind: KindConstant, Rate: rate},
			"a bit more regular": {Kind: KindGamma, Rate: rate, Burstiness: burstiness * 1.25},
			"a bit burstier":     {Kind: KindGamma, Rate: rate, Burstiness: burstiness * 0.8},
			"faster":             {Kind: KindGamma, Rate: rate * 1.05, Burstiness: burstiness},
		} {
			if err := isUnitGamma(draw(p, 1), end, burstiness); err == nil {
				t.Errorf("%s passes for burstiness %v", name, burstiness)
			}
		}
	}
	if err := isUnitGamma(draw(Process{Rate: rate}, 1), end, 0.25); err == nil {
		t.Error("a Poisson process passes for burstiness 0.25")
	}
}

// TestGammaVariate tests the sampler alone: gaps of low shapes are often shorter
// than the nanosecond that due times are rounded to.
func TestGammaVariate(t *testing.T) {
	sample := func(shape float64) []float64 {
		pcg := rand.NewPCG(1, 2)
		all := make([]float64, 15_000)
		for i := range all {
			all[i] = gammaVariate(pcg, shape)
		}
		return all
	}
	for _, shape := range []float64{0.05, 0.25, 0.5, 0.999, 1, 1.5, 4, 100} {
		cdf := func(x float64) float64 { return gammaCDF(shape, x) }
		if err := followsCDF(sample(shape), cdf); err != nil {
			t.Errorf("shape %v: %v", shape, err)
		}
		for _, wrong := range []float64{0.8, 1.25} {
			if err := followsCDF(sample(shape*wrong), cdf); err == nil {
				t.Errorf("shape %v passes for %v", shape*wrong, shape)
			}
		}
	}
}

// TestGammaStartsUnderWay: even a short schedule has as many arrivals as its rate
// says, on average over seeds, which a process that starts with a whole gap has
// not.
func TestGammaStartsUnderWay(t *testing.T) {
	const seeds = 10_000
	for _, burstiness := range []float64{0.05, 0.25, 1, 4, 50} {
		p := Process{Kind: KindGamma, Rate: 10, Burstiness: burstiness}
		var sum, squares float64
		for seed := range uint64(seeds) {
			n := float64(len(drawAll(t, p, 70*time.Millisecond, seed)))
			sum += n
			squares += n * n
		}
		mean := sum / seeds
		standardError := math.Sqrt((squares/seeds - mean*mean) / seeds)
		if z := (mean - 0.7) / standardError; math.Abs(z) > normalCritical {
			t.Errorf("burstiness %v: %.4f arrivals in 70 ms are %.1f standard errors from 0.7", burstiness, mean, z)
		}
	}
}
