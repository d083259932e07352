package summary_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"llmsim-bench/bench/record"
	"llmsim-bench/bench/summary"
)

// queue returns the records of Poisson arrivals over 20 s at a rate, on a server
// that works on one at a time, for an exponential time of the given mean.
func queue(seed uint64, rate, meanService float64) []*record.Request {
	rng := rand.New(rand.NewPCG(seed, 1))
	var records []*record.Request
	free := 0.0
	for t := rng.ExpFloat64() / rate; t < 20; t += rng.ExpFloat64() / rate {
		r := request(second(t))
		free = max(free, t) + meanService*rng.ExpFloat64()
		r.End = second(free)
		records = append(records, r)
	}
	return records
}

func backlog(t *testing.T, records []*record.Request) *summary.Backlog {
	t.Helper()
	p := point(t, conditions{summary.Conditions{OfferedRPS: 1}, second(20)}, records...)
	if p.Backlog == nil {
		t.Fatal("there is no backlog")
	}
	return p.Backlog
}

func TestABacklogThatGrowsIsUnstable(t *testing.T) {
	for seed := range uint64(20) {
		b := backlog(t, queue(seed, 20, 0.1))
		if !b.Unstable || math.Abs(b.GrowthPerS-10) > 3.5 {
			t.Errorf("seed %d: offered 20/s, capacity 10/s: %+v; want unstable, by about 10/s", seed, b)
		}
	}
}

func TestABacklogOfChanceIsStable(t *testing.T) {
	unstable := 0
	for seed := range uint64(60) {
		if backlog(t, queue(seed, 20, 0.045)).Unstable { // 90 % busy
			unstable++
		}
	}
	if unstable > 2 {
		t.Errorf("%d of 60 runs at 90 %% of the capacity are called unstable", unstable)
	}
}

// A slow answer is no growing backlog, but without a warm-up it fills up first.
func TestBacklogCountsWhatWasDueBefore(t *testing.T) {
	records := stream(5, 20, 0.05, func(_ int, due float64) float64 { return due + 2 })
	if b := backlog(t, records); b.Unstable || b.Start != 40 || math.Abs(float64(b.End-40)) > 1 || b.Max > 41 {
		t.Errorf("20/s that take 2 s each: %+v; want 40 throughout", b)
	}
}

func TestBacklogOfACutWindow(t *testing.T) {
	r := request(0)
	for _, tt := range []struct {
		cutAt record.Instant
		want  bool
	}{{second(0.35), false}, {second(0.45), true}} {
		p := point(t, conditions{summary.Conditions{CutAt: tt.cutAt}, second(20)}, r)
		if got := p.Backlog != nil; got != tt.want {
			t.Errorf("cut at %d ns: a backlog: %v; want %v", tt.cutAt, got, tt.want)
		}
	}
}

func TestAClosedLoopHasNoBacklog(t *testing.T) {
	p := point(t, conditions{summary.Conditions{Concurrency: 2}, second(20)}, request(0))
	if p.Backlog != nil {
		t.Errorf("%+v", p.Backlog)
	}
}
