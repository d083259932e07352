package selftest

import (
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func always() bool { return true }

// upTo is a client that sustains every level up to a limit.
func upTo(limit float64) func(float64) (Step, error) {
	return func(level float64) (Step, error) { return Step{Level: level, Sustained: level <= limit}, nil }
}

func levels(steps []Step) (all []float64) {
	for _, s := range steps {
		all = append(all, s.Level)
	}
	return all
}

func TestLadder(t *testing.T) {
	for _, c := range []struct {
		name      string
		ladder    Ladder
		limit     float64
		levels    []float64
		sustained float64
		bounded   bool
	}{
		{"up to the limit", Ladder{Start: 10, Factor: 2, Max: 1000, Tries: 1}, 45, []float64{10, 20, 40, 80}, 40, false},
		{"a failure is tried again", Ladder{Start: 10, Factor: 2, Max: 1000, Tries: 2}, 25, []float64{10, 20, 40, 40}, 20, false},
		{"refined", Ladder{Start: 1, Factor: 4, Max: 1000, Refine: 2, Tries: 1}, 9, []float64{1, 4, 16, 8, math.Sqrt(128)}, 8, false},
		{"up to the maximum", Ladder{Start: 10, Factor: 2, Max: 50, Refine: 2, Tries: 1}, 1e9, []float64{10, 20, 40, 50}, 50, true},
		{"the start is the maximum", Ladder{Start: 10, Factor: 2, Max: 10, Tries: 1}, 1e9, []float64{10}, 10, true},
		{"down from the start", Ladder{Start: 80, Factor: 2, Max: 1000, Refine: 1, Tries: 1}, 25, []float64{80, 40, 20, math.Sqrt(800)}, 20, false},
		{"nothing is sustained", Ladder{Start: 16, Factor: 2, Max: 1000, Refine: 3, Tries: 1}, 0.1, []float64{16, 8, 4, 2, 1}, 0, false},
	} {
		steps, err := c.ladder.Climb(always, upTo(c.limit))
		if err != nil || !slices.Equal(levels(steps), c.levels) {
			t.Errorf("%s: levels %v, %v; want %v", c.name, levels(steps), err, c.levels)
		}
		if p := newPart(steps); p.Sustained != c.sustained || p.Bounded != c.bounded {
			t.Errorf("%s: sustained %v, bounded %v; want %v, %v", c.name, p.Sustained, p.Bounded, c.sustained, c.bounded)
		}
	}
}

// TestLadderForgivesABadMoment: a level that fails once and then holds holds.
func TestLadderForgivesABadMoment(t *testing.T) {
	seen := map[float64]int{}
	steps, err := Ladder{Start: 1, Factor: 2, Max: 8, Tries: 2}.Climb(always, func(level float64) (Step, error) {
		seen[level]++
		return Step{Level: level, Sustained: seen[level] == 2}, nil
	})
	if best, ok := highest(steps); err != nil || !ok || best.Level != 8 || len(steps) != 8 {
		t.Errorf("%v, %v", levels(steps), err)
	}
}

func TestLadderStops(t *testing.T) {
	left := 3
	steps, err := Ladder{Start: 1, Factor: 2, Max: 1e6, Tries: 1}.Climb(func() bool { left--; return left > 0 }, upTo(1e9))
	if err != nil || len(steps) != 2 {
		t.Errorf("out of time: %v, %v", levels(steps), err)
	}
	steps, _ = Ladder{Start: 1, Factor: 2, Max: 4}.Climb(func() bool { return false }, upTo(1e9))
	if len(steps) != 1 {
		t.Errorf("no time at all: %v, want the first level all the same", levels(steps))
	}
	broken := errors.New("broken")
	for at := 1; at < 6; at++ {
		n := 0
		steps, err = Ladder{Start: 10, Factor: 2, Max: 1e6, Refine: 3, Tries: 1}.Climb(always, func(level float64) (Step, error) {
			if n++; n == at {
				return Step{}, broken
			}
			return Step{Level: level, Sustained: level < 25}, nil
		})
		if !errors.Is(err, broken) || len(steps) != at-1 {
			t.Errorf("an error at measurement %d: %v, %v", at, levels(steps), err)
		}
	}
}

func TestHighestIsByLevel(t *testing.T) {
	best, ok := highest([]Step{{Level: 4, Sustained: true}, {Level: 9}, {Level: 6, Sustained: true}, {Level: 5, Sustained: true}})
	if !ok || best.Level != 6 {
		t.Errorf("%+v, %v", best, ok)
	}
}

// TestLadderFindsTheLimit: what is sustained is at most the limit, and by no more
// than the factor of the last gap below it.
func TestLadderFindsTheLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := Ladder{
			Start:  rapid.Float64Range(1, 100).Draw(t, "start"),
			Factor: rapid.Float64Range(1.5, 4).Draw(t, "factor"),
			Refine: rapid.IntRange(0, 4).Draw(t, "refine"),
			Tries:  rapid.IntRange(1, 2).Draw(t, "tries"),
		}
		l.Max = l.Start * rapid.Float64Range(1, 1000).Draw(t, "max")
		limit := l.Start * rapid.Float64Range(1, 2000).Draw(t, "limit")
		steps, _ := l.Climb(always, upTo(limit))
		p := newPart(steps)
		gap := math.Pow(l.Factor, math.Pow(0.5, float64(l.Refine))) * (1 + 1e-9)
		if p.Sustained > limit || p.Sustained > l.Max || p.Sustained*gap < min(limit, l.Max) {
			t.Fatalf("sustained %v of %v in %v", p.Sustained, limit, levels(steps))
		}
		if p.Bounded != (limit >= l.Max) {
			t.Fatalf("bounded %v at %v of at most %v, limit %v", p.Bounded, p.Sustained, l.Max, limit)
		}
	})
}
