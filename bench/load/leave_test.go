package load

import (
	"math"
	"testing"
	"time"
)

func TestTheShareOfClientsThatLeave(t *testing.T) {
	const n = 100_000
	for _, fraction := range []float64{0, 0.1, 0.5, 1} {
		l := Leave{Fraction: fraction, AfterTokens: 10, Seed: 7}
		leaving := 0
		for id := range int64(n) {
			if l.Chooses(id) {
				leaving++
			}
		}
		deviation := math.Sqrt(n * fraction * (1 - fraction))
		if math.Abs(float64(leaving)-n*fraction) > 4*deviation {
			t.Errorf("%d of %d leave, want %g", leaving, n, n*fraction)
		}
	}
}

// A larger fraction adds clients and keeps the others; another seed has others.
func TestWhichClientsLeave(t *testing.T) {
	some := Leave{Fraction: 0.2, After: time.Second, Seed: 7}
	more, other := some, some
	more.Fraction, other.Seed = 0.4, 8
	differ := false
	for id := range int64(1000) {
		if some.Chooses(id) && !more.Chooses(id) {
			t.Fatalf("request %d leaves at 0.2 and stays at 0.4", id)
		}
		differ = differ || some.Chooses(id) != other.Chooses(id)
	}
	if !differ {
		t.Error("the seed changes nothing")
	}
	if (Leave{Fraction: 1}).Chooses(1) {
		t.Error("a client leaves that was told no time")
	}
}

func TestLeaveChecks(t *testing.T) {
	for _, bad := range []Leave{{Fraction: 1.1}, {Fraction: -0.1}, {Fraction: math.NaN()}, {AfterTokens: -1}, {After: -1}} {
		if bad.Check() == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
	if err := (Leave{Fraction: 0.5, AfterTokens: 1, After: 1}).Check(); err != nil {
		t.Error(err)
	}
}
