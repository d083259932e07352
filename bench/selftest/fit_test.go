package selftest

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestCostsAreFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		idle := rapid.Float64Range(0, 0.2).Draw(t, "idle")
		want := costs{
			request: rapid.Float64Range(20e-6, 500e-6).Draw(t, "request"),
			event:   rapid.Float64Range(1e-6, 50e-6).Draw(t, "event"),
		}
		var steps []Step
		for _, load := range [][2]float64{{500, 500}, {1000, 1000}, {2000, 2000}, {50, 5000}, {100, 10_000}, {200, 20_000}} {
			steps = append(steps, Step{RequestsPerS: load[0], EventsPerS: load[1], Cores: idle + load[0]*want.request + load[1]*want.event})
		}
		got, ok := fitCosts(steps)
		if !ok || math.Abs(got.request/want.request-1) > 1e-6 || math.Abs(got.event/want.event-1) > 1e-6 {
			t.Fatalf("%+v, %v; want %+v", got, ok, want)
		}
	})
}

func TestCostsThatCannotBeTold(t *testing.T) {
	for name, steps := range map[string][]Step{
		"none":            nil,
		"two":             {{RequestsPerS: 1, EventsPerS: 1, Cores: 1}, {RequestsPerS: 1, EventsPerS: 9, Cores: 2}},
		"no requests":     {{EventsPerS: 1, Cores: 1}, {EventsPerS: 2, Cores: 2}, {EventsPerS: 3, Cores: 3}},
		"always together": {{RequestsPerS: 1, EventsPerS: 2, Cores: 1}, {RequestsPerS: 2, EventsPerS: 4, Cores: 2}, {RequestsPerS: 3, EventsPerS: 6, Cores: 3}},
		"costs below 0":   {{RequestsPerS: 1, EventsPerS: 1, Cores: 1}, {RequestsPerS: 2, EventsPerS: 2, Cores: 0.5}, {RequestsPerS: 1, EventsPerS: 9, Cores: 2}},
	} {
		if c, ok := fitCosts(steps); ok {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

// TestCostsNeedDifferentLoads: where requests and events always come together,
// nobody can tell which of them costs what.
func TestCostsNeedDifferentLoads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		each := rapid.Float64Range(1, 200).Draw(t, "events a request")
		var steps []Step
		for range rapid.IntRange(3, 8).Draw(t, "steps") {
			rate := rapid.Float64Range(10, 1e5).Draw(t, "rate")
			steps = append(steps, Step{RequestsPerS: rate, EventsPerS: rate * each, Cores: rapid.Float64Range(0.1, 8).Draw(t, "cores")})
		}
		if c, ok := fitCosts(steps); ok {
			t.Fatalf("%+v", c)
		}
	})
}

func TestOnlyStepsWellBelowTheLimitTellCosts(t *testing.T) {
	steps := []Step{
		{Level: 10, Sustained: true},
		{Level: 20, Sustained: false},
		{Level: 30, Sustained: true},
		{Level: 31, Sustained: true},
		{Level: 40, Sustained: true},
		{Level: 80},
	}
	if got := levels(cheap(steps)); !slices.Equal(got, []float64{10, 30}) {
		t.Errorf("%v", got)
	}
}
