package hist

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
	"pgregory.net/rapid"
)

func TestQuantileIsNearestRank(t *testing.T) {
	ten := []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	for _, c := range []struct {
		q    float64
		want int64
	}{{0, 1}, {0.05, 1}, {0.1, 1}, {0.11, 2}, {0.5, 5}, {0.51, 6}, {0.9, 9}, {0.95, 10}, {0.99, 10}, {1, 10}} {
		if got := Quantile(ten, c.q); got != c.want {
			t.Errorf("q %v: got %d, want %d", c.q, got, c.want)
		}
	}
	if got := Quantile(nil, 0.5); got != 0 {
		t.Errorf("of nothing: %d", got)
	}
	// 0.95·20 is 19 and a bit in floating point, but the 19th value is meant.
	twenty := make([]int64, 20)
	for i := range twenty {
		twenty[i] = int64(i + 1)
	}
	if got := Quantile(twenty, 0.95); got != 19 {
		t.Errorf("p95 of 1…20: %d, want 19", got)
	}
}

// Exact must say what sorting all the values says.
func TestExactEqualsSorting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Int64Range(0, 1000), 1, 200).Draw(t, "values")
		e := NewExact()
		for _, v := range values {
			e.Record(v*1e6, 1)
		}
		got, want := e.Stats(), StatsOf(scaled(values, 1e6))
		if math.Abs(got.Mean-want.Mean) > 1e-9*want.Mean {
			t.Fatalf("mean %v, want %v", got.Mean, want.Mean)
		}
		got.Mean = want.Mean
		if got != want {
			t.Fatalf("got %+v, want %+v", got, want)
		}
	})
}

func scaled(values []int64, by int64) []int64 {
	out := slices.Clone(values)
	for i := range out {
		out[i] *= by
	}
	return out
}

func TestExactFoldsToFiveDigits(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	e := NewExact()
	var values []int64
	for range maxDistinct + 1000 {
		v := 1_000_000 + rng.Int64N(1_000_000_000)
		values = append(values, v)
		e.Record(v, 1)
	}
	if e.folded == nil {
		t.Fatal("was not folded")
	}
	got, want := e.Stats(), StatsOf(values)
	for _, c := range []struct{ got, want float64 }{
		{got.Mean, want.Mean},
		{got.P50, want.P50},
		{got.P90, want.P90},
		{got.P95, want.P95},
		{got.P99, want.P99},
		{got.Max, want.Max},
	} {
		if math.Abs(c.got-c.want) > 2e-5*c.want {
			t.Errorf("got %v, want %v to five digits", c.got, c.want)
		}
	}
	if got.Count != want.Count {
		t.Errorf("count %d, want %d", got.Count, want.Count)
	}
}

func TestDurationIsRightToThreeDigits(t *testing.T) {
	d := NewDuration()
	var values []int64
	for i := range int64(10_000) {
		v := (i + 1) * 12_345
		values = append(values, v)
		d.Record(v, 1)
	}
	got, want := d.Stats(), StatsOf(values)
	for _, c := range []struct{ got, want float64 }{
		{got.P50, want.P50},
		{got.P99, want.P99},
		{got.Max, want.Max},
		{got.Mean, want.Mean},
	} {
		if math.Abs(c.got-c.want) > 1e-3*c.want {
			t.Errorf("got %v, want %v to three digits", c.got, c.want)
		}
	}
}

// Both kinds must mean the same rank, or columns beside each other could not be
// compared.
func TestDurationHasTheRankOfExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 500).Draw(t, "n")
		d, e := NewDuration(), NewExact()
		for i := range n {
			ns := int64(1000 << (i % 30)) // far enough apart to tell ranks
			d.Record(ns, 1)
			e.Record(ns, 1)
		}
		got, want := d.Stats(), e.Stats()
		for _, c := range [][2]float64{{got.P50, want.P50}, {got.P90, want.P90}, {got.P95, want.P95}, {got.P99, want.P99}} {
			if math.Abs(c[0]-c[1]) > 1e-3*c[1] {
				t.Fatalf("%d values: %+v, exactly %+v", n, got, want)
			}
		}
	})
}

func TestDurationClampsInsteadOfLosing(t *testing.T) {
	d := NewDuration()
	d.Record(-5, 1)
	d.Record(math.MaxInt64, 1)
	if d.Count() != 2 {
		t.Errorf("%d values kept, want 2", d.Count())
	}
}

func TestEncodedHistogramsMerge(t *testing.T) {
	a, b := NewDuration(), NewDuration()
	a.Record(1_000_000, 3)
	b.Record(9_000_000, 1)
	text, err := b.Encode()
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := hdrhistogram.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	a.h.Merge(decoded)
	if a.Count() != 4 || a.h.Max() < 9_000_000 {
		t.Errorf("merged: count %d, max %d", a.Count(), a.h.Max())
	}
}

func TestNothingRecordedIsZeroStats(t *testing.T) {
	if s := NewDuration().Stats(); s != (Stats{}) {
		t.Errorf("Duration: %+v", s)
	}
	if s := NewExact().Stats(); s != (Stats{}) {
		t.Errorf("Exact: %+v", s)
	}
	if s := StatsOf(nil); s != (Stats{}) {
		t.Errorf("StatsOf: %+v", s)
	}
}
