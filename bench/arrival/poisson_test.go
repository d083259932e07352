package arrival

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func draw(t testing.TB, rate float64, horizon time.Duration, seed uint64) []time.Duration {
	t.Helper()
	s, err := Poisson(rate, horizon, seed)
	if err != nil {
		t.Fatal(err)
	}
	var due []time.Duration
	for {
		d, ok := s.Next()
		if !ok {
			break
		}
		due = append(due, d)
	}
	if d, ok := s.Next(); ok {
		t.Fatalf("the schedule went on at %v after its end", d)
	}
	return due
}

// TestGapsAreExponential is a Kolmogorov-Smirnov test of the gaps against the
// exponential distribution. 1.95/√n is its critical value at the 0.1 % level.
func TestGapsAreExponential(t *testing.T) {
	const rate = 50.0
	for _, seed := range []uint64{1, 2, 3} {
		due := draw(t, rate, 400*time.Second, seed)
		gaps := make([]float64, len(due))
		last := time.Duration(0)
		for i, d := range due {
			gaps[i] = (d - last).Seconds()
			last = d
		}
		slices.Sort(gaps)
		n := float64(len(gaps))
		worst := 0.0
		for i, gap := range gaps {
			want := 1 - math.Exp(-rate*gap)
			worst = max(worst, want-float64(i)/n, float64(i+1)/n-want)
		}
		if limit := 1.95 / math.Sqrt(n); worst > limit {
			t.Errorf("seed %d: the gaps are %.4f away from the exponential distribution, more than %.4f", seed, worst, limit)
		}
	}
}

// TestCountsArePoisson checks mean and dispersion of the arrivals a second:
// evenly spaced or rescaled schedules have the mean but not the variance.
func TestCountsArePoisson(t *testing.T) {
	const rate, seconds = 20.0, 4000
	for _, seed := range []uint64{1, 2, 3} {
		var counts [seconds]float64
		due := draw(t, rate, seconds*time.Second, seed)
		for _, d := range due {
			counts[d/time.Second]++
		}
		mean := float64(len(due)) / seconds
		variance := 0.0
		for _, c := range counts {
			variance += (c - mean) * (c - mean) / (seconds - 1)
		}
		// Four standard errors: √(rate/seconds) of the mean, √(2/seconds) of the ratio.
		if diff, limit := math.Abs(mean-rate), 4*math.Sqrt(rate/seconds); diff > limit {
			t.Errorf("seed %d: %.3f arrivals a second, want %.0f ± %.3f", seed, mean, rate, limit)
		}
		if diff, limit := math.Abs(variance/mean-1), 4*math.Sqrt(2.0/seconds); diff > limit {
			t.Errorf("seed %d: the variance is %.3f times the mean, want 1 ± %.3f", seed, variance/mean, limit)
		}
	}
}

func TestSeedDecides(t *testing.T) {
	one := draw(t, 100, 10*time.Second, 1)
	if again := draw(t, 100, 10*time.Second, 1); !slices.Equal(one, again) {
		t.Error("the same seed gave two schedules")
	}
	if other := draw(t, 100, 10*time.Second, 2); slices.Equal(one, other) {
		t.Error("two seeds gave the same schedule")
	}
	longer := draw(t, 100, 20*time.Second, 1)
	if !slices.Equal(one, longer[:len(one)]) {
		t.Error("a longer horizon changed the arrivals before it")
	}
}

// TestFirstArrivalsStay pins the sequence: a seed in a published result must
// mean the same arrivals with every later version.
func TestFirstArrivalsStay(t *testing.T) {
	got := draw(t, 10, time.Second, 1)
	want := []time.Duration{7_517_953, 14_677_563, 37_551_454}
	if !slices.Equal(got[:min(len(got), len(want))], want) {
		t.Errorf("first arrivals of seed 1: %d, want %d", got[:min(len(got), len(want))], want)
	}
}

func TestScheduleIsAscendingAndEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.Float64Range(1e-9, 5000).Draw(t, "rate")
		horizon := time.Duration(rapid.Int64Range(1, int64(time.Second)).Draw(t, "horizon"))
		s, err := Poisson(rate, horizon, rapid.Uint64().Draw(t, "seed"))
		if err != nil {
			t.Fatal(err)
		}
		last := time.Duration(0)
		for {
			d, ok := s.Next()
			if !ok {
				return
			}
			if d < last || d >= horizon {
				t.Fatalf("due at %v, after %v, with the end at %v", d, last, horizon)
			}
			last = d
		}
	})
}

func TestImpossibleArgumentsAreRefused(t *testing.T) {
	for _, rate := range []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1), 1e6 + 1} {
		if _, err := Poisson(rate, time.Second, 1); err == nil || !strings.Contains(err.Error(), "rate") {
			t.Errorf("rate %v: error %v, want one about the rate", rate, err)
		}
	}
	for _, horizon := range []time.Duration{0, -time.Second} {
		if _, err := Poisson(1, horizon, 1); err == nil || !strings.Contains(err.Error(), "longer than 0") {
			t.Errorf("horizon %v: error %v, want one about the horizon", horizon, err)
		}
	}
}
