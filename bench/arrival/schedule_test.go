package arrival

import (
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// samples holds a process of every kind.
func samples() []Process {
	return []Process{
		{Rate: 100},
		{Kind: KindConstant, Rate: 30},
		{Kind: KindGamma, Rate: 100, Burstiness: 0.25},
		{Kind: KindRamp, FromRate: 20, ToRate: 200},
		{Kind: KindSteps, Steps: []Step{{50, 4 * time.Second}, {0, time.Second}, {100, 15 * time.Second}}},
		{Kind: KindBurst, Requests: 1000},
		{Kind: KindTrace, Times: []time.Duration{0, 0, time.Second, 12 * time.Second, 19 * time.Second}},
	}
}

func TestSeedDecides(t *testing.T) {
	for _, p := range samples() {
		one := drawAll(t, p, 10*time.Second, 1)
		if again := drawAll(t, p, 10*time.Second, 1); !slices.Equal(one, again) {
			t.Errorf("%v: the same seed gave two schedules", p)
		}
		other := drawAll(t, p, 10*time.Second, 2)
		if drawn := p.Kind != KindConstant && p.Kind != KindBurst && p.Kind != KindTrace; drawn == slices.Equal(one, other) {
			t.Errorf("%v: two seeds gave schedules that are equal: %v", p, !drawn)
		}
		if p.Kind == KindRamp {
			continue // a longer one is less steep
		}
		longer := drawAll(t, p, 20*time.Second, 1)
		if len(longer) < len(one) || !slices.Equal(one, longer[:len(one)]) {
			t.Errorf("%v: a longer horizon changed the arrivals before it", p)
		}
	}
}

// TestKindsAreDrawnApart: processes that are all Poisson at one rate, given the
// same seed, have nothing in common.
func TestKindsAreDrawnApart(t *testing.T) {
	seen := map[time.Duration]Process{}
	for _, p := range []Process{
		{Rate: 10},
		{Kind: KindGamma, Rate: 10, Burstiness: 1},
		{Kind: KindRamp, FromRate: 10, ToRate: 10},
		{Kind: KindSteps, Steps: []Step{{10, time.Minute}}},
	} {
		for _, d := range drawAll(t, p, time.Minute, 1) {
			us := d.Round(time.Microsecond)
			if other, taken := seen[us]; taken && other.Kind != p.Kind {
				t.Errorf("%v and %v both have an arrival at %v", other, p, us)
			}
			seen[us] = p
		}
	}
}

// TestFirstArrivalsStay pins the sequences: a seed in a published result must
// mean the same arrivals with every later version.
func TestFirstArrivalsStay(t *testing.T) {
	want := [][]time.Duration{
		{751_795, 1_467_756, 3_755_145},
		{0, 33_333_333, 66_666_666},
		{4_199_545, 16_531_810, 17_786_448},
		{38_193_720, 99_629_708, 246_413_396},
		{76_042_192, 76_501_588, 94_030_246},
		{0, 0, 0},
		{0, 0, time.Second},
	}
	for i, p := range samples() {
		got := drawAll(t, p, 20*time.Second, 1)[:3]
		if !slices.Equal(got, want[i]) {
			t.Errorf("%v: first arrivals of seed 1: %d, want %d", p, got, want[i])
		}
	}
}

func TestScheduleIsAscendingAndEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProcess(t)
		horizon := time.Duration(rapid.Int64Range(1, int64(time.Second)).Draw(t, "horizon"))
		s, err := p.Schedule(horizon, rapid.Uint64().Draw(t, "seed"))
		if err != nil {
			t.Fatal(err)
		}
		last := time.Duration(0)
		for range 20_000 {
			d, ok := s.Next()
			if !ok {
				if d, ok := s.Next(); ok {
					t.Fatalf("went on at %v after the end", d)
				}
				return
			}
			if d < last || d >= horizon {
				t.Fatalf("due at %v, after %v, with the end at %v", d, last, horizon)
			}
			last = d
		}
	})
}

// drawProcess draws any process that is possible.
func drawProcess(t *rapid.T) Process {
	rate := rapid.Float64Range(1e-9, 5000)
	p := Process{Kind: Kind(rapid.IntRange(int(KindPoisson), int(KindTrace)).Draw(t, "kind"))}
	switch p.Kind {
	case KindPoisson, KindConstant, KindGamma:
		p.Rate = rate.Draw(t, "rate")
		if p.Kind == KindGamma {
			p.Burstiness = rapid.Float64Range(MinBurstiness, 1000).Draw(t, "burstiness")
		}
	case KindRamp:
		p.FromRate = rapid.SampledFrom([]float64{0, rate.Draw(t, "from")}).Draw(t, "from")
		p.ToRate = rate.Draw(t, "to")
	case KindSteps:
		for range rapid.IntRange(0, 5).Draw(t, "steps") {
			p.Steps = append(p.Steps, Step{
				rapid.SampledFrom([]float64{0, 3, rate.Draw(t, "rate")}).Draw(t, "rate"),
				time.Duration(rapid.Int64Range(1, int64(time.Second)).Draw(t, "for")),
			})
		}
		p.Steps = append(p.Steps, Step{rate.Draw(t, "rate"), time.Second})
	case KindBurst:
		p.Requests = rapid.IntRange(1, 5000).Draw(t, "requests")
	case KindTrace:
		for range rapid.IntRange(1, 20).Draw(t, "times") {
			p.Times = append(p.Times, time.Duration(rapid.Int64Range(0, int64(2*time.Second)).Draw(t, "at")))
		}
		slices.Sort(p.Times)
	}
	return p
}

func TestConstantIsExact(t *testing.T) {
	for _, c := range []struct {
		rate    float64
		decimal string
		horizon time.Duration
	}{
		{3, "3", 1000 * time.Second},
		{0.1, "0.1", 1_000_000 * time.Second},
		{7, "7", 1000 * time.Second},
		{33.3, "33.3", 100 * time.Second},
		{math.Pi, "3.141592653589793", 1000 * time.Second},
		{1e6, "1000000", 10 * time.Millisecond},
		{999_999.9999999999, "999999.9999999999", 10 * time.Millisecond},
		{1e-9, "0.000000001", math.MaxInt64},
		{1e-300, "1e-300", math.MaxInt64},
	} {
		rate, _ := new(big.Rat).SetString(c.decimal)
		p := Process{Kind: KindConstant, Rate: c.rate}
		due := drawAll(t, p, c.horizon, 1)
		at := func(k int) *big.Int {
			q := new(big.Rat).Quo(big.NewRat(int64(k)*1e9, 1), rate)
			return new(big.Int).Quo(q.Num(), q.Denom())
		}
		for k, d := range due {
			if want := at(k); want.Cmp(big.NewInt(int64(d))) != 0 {
				t.Fatalf("rate %s: arrival %d is due at %d ns, want %v", c.decimal, k, d, want)
			}
		}
		if next := at(len(due)); next.Cmp(big.NewInt(int64(c.horizon))) < 0 {
			t.Errorf("rate %s ended before the arrival at %v ns", c.decimal, next)
		}
	}
}

func TestStepsPause(t *testing.T) {
	p := Process{Kind: KindSteps, Steps: []Step{{0, 10 * time.Second}, {100, 10 * time.Second}, {0, 5 * time.Second}, {0, 5 * time.Second}, {10, 10 * time.Second}}}
	due := drawAll(t, p, time.Hour, 1)
	for _, d := range due {
		if s := d.Seconds(); s < 10 || s >= 20 && s < 30 || s >= 40 {
			t.Errorf("an arrival at %v, in a pause", d)
		}
	}
	if got := p.Length(); got != 40*time.Second {
		t.Errorf("the steps are %v long, want 40s", got)
	}
}

func TestBurstComesAtOnce(t *testing.T) {
	due := drawAll(t, Process{Kind: KindBurst, Requests: 1000}, time.Second, 1)
	if len(due) != 1000 || slices.Max(due) != 0 {
		t.Errorf("%d arrivals until %v, want 1000 at 0", len(due), slices.Max(due))
	}
}

// TestSchedulesCostNoMemory: a schedule is drawn as it is asked for.
func TestSchedulesCostNoMemory(t *testing.T) {
	for _, p := range samples() {
		if p.Kind == KindSteps {
			p.Steps = []Step{{50, time.Hour}, {0, time.Second}, {100, time.Hour}}
		}
		s, err := p.Schedule(24*time.Hour, 1)
		if err != nil {
			t.Fatal(err)
		}
		if n := testing.AllocsPerRun(1000, func() { s.Next() }); n != 0 {
			t.Errorf("%v: %v allocations an arrival, want 0", p, n)
		}
	}
}

func TestImpossibleProcessesAreRefused(t *testing.T) {
	nan, inf, second := math.NaN(), math.Inf(1), time.Second
	for _, c := range []struct {
		process Process
		want    string
	}{
		{Process{}, "a rate of 0 "},
		{Process{Rate: -1}, "a rate of -1 "},
		{Process{Rate: nan}, "a rate of NaN "},
		{Process{Rate: inf}, "a rate of +Inf "},
		{Process{Rate: MaxRate + 1}, "at most 1000000"},
		{Process{Kind: KindConstant}, "a rate of 0 "},
		{Process{Kind: KindGamma, Burstiness: 1}, "a rate of 0 "},
		{Process{Kind: KindGamma, Rate: 1}, "a burstiness of 0 "},
		{Process{Kind: KindGamma, Rate: 1, Burstiness: nan}, "a burstiness of NaN "},
		{Process{Kind: KindGamma, Rate: 1, Burstiness: inf}, "a burstiness of +Inf "},
		{Process{Kind: KindRamp}, "a ramp from 0 to 0 "},
		{Process{Kind: KindRamp, FromRate: -1, ToRate: 1}, "a rate of -1 "},
		{Process{Kind: KindRamp, FromRate: 1, ToRate: nan}, "a rate of NaN "},
		{Process{Kind: KindSteps}, "no steps"},
		{Process{Kind: KindSteps, Steps: []Step{{0, second}}}, "every step has a rate of 0"},
		{Process{Kind: KindSteps, Steps: []Step{{1, second}, {-1, second}}}, "(step 2)"},
		{Process{Kind: KindSteps, Steps: []Step{{1, second}, {1, 0}}}, "a step of 0s "},
		{Process{Kind: KindSteps, Steps: []Step{{1, math.MaxInt64}, {1, 1}}}, "(step 2)"},
		{Process{Kind: KindBurst}, "a burst of 0 "},
		{Process{Kind: KindBurst, Requests: MaxBurst + 1}, "1 to 1048576"},
		{Process{Kind: KindTrace}, "no times"},
		{Process{Kind: KindTrace, Times: []time.Duration{-1}}, "time 1 is -1ns"},
		{Process{Kind: KindTrace, Times: []time.Duration{1, 3, 2}}, "time 3, 2ns, is before"},
		{Process{Kind: KindTrace + 1}, "no kind 7"},
	} {
		if err := c.process.Check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: Check gives %v, want an error with %q", c.process, err, c.want)
		}
		if _, err := c.process.Schedule(second, 1); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: Schedule gives %v, want an error with %q", c.process, err, c.want)
		}
	}
	for _, p := range samples() {
		if err := p.Check(); err != nil {
			t.Errorf("%v: %v", p, err)
		}
		for _, horizon := range []time.Duration{0, -second} {
			if _, err := p.Schedule(horizon, 1); p.Kind != KindBurst && (err == nil || !strings.Contains(err.Error(), "longer than 0")) {
				t.Errorf("%v over %v: error %v, want one about the horizon", p, horizon, err)
			}
		}
	}
}
