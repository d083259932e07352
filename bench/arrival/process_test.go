package arrival

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParsers(t *testing.T) {
	for _, c := range []struct {
		parse func(string) (Process, error)
		text  string
		want  Process
	}{
		{ParseArrival, "poisson", Process{}},
		{ParseArrival, " constant ", Process{Kind: KindConstant}},
		{ParseArrival, "gamma:0.25", Process{Kind: KindGamma, Burstiness: 0.25}},
		{ParseRamp, "10..100", Process{Kind: KindRamp, FromRate: 10, ToRate: 100}},
		{ParseRamp, "0.5 .. 0", Process{Kind: KindRamp, FromRate: 0.5}},
		{ParseSteps, "10@30s", Process{Kind: KindSteps, Steps: []Step{{10, 30 * time.Second}}}},
		{ParseSteps, "10@30s, 0@1m, 2.5@1m30s", Process{Kind: KindSteps, Steps: []Step{{10, 30 * time.Second}, {0, time.Minute}, {2.5, 90 * time.Second}}}},
	} {
		got, err := c.parse(c.text)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q: %+v, %v, want %+v", c.text, got, err, c.want)
		}
	}
}

func TestParsersRefuse(t *testing.T) {
	for _, c := range []struct {
		parse      func(string) (Process, error)
		text, want string
	}{
		{ParseArrival, "", "must be poisson, constant or gamma:BURSTINESS"},
		{ParseArrival, "uniform", `"uniform" is not known`},
		{ParseArrival, "gamma", "such as gamma:0.5"},
		{ParseArrival, "poisson:1", "is not known"},
		{ParseArrival, "gamma:x", `"x" is no number`},
		{ParseArrival, "gamma:0", "a burstiness of 0 is not possible"},
		{ParseArrival, "gamma:nan", "a burstiness of NaN"},
		{ParseRamp, "10", `there is no ".."`},
		{ParseRamp, "..10", `"" is no number`},
		{ParseRamp, "10..fast", `"fast" is no number`},
		{ParseRamp, "0..0", "one of the rates must be above 0"},
		{ParseRamp, "1..1e9", "at most 1000000"},
		{ParseSteps, "", `"" has no "@"`},
		{ParseSteps, "10@30s,", `"" has no "@"`},
		{ParseSteps, "x@30s", `"x" is no number`},
		{ParseSteps, "10@30", `"30" is no length of time`},
		{ParseSteps, "10@30s,-1@3s", "a rate of -1 requests per second is not possible: it must be 0 or more and at most 1000000 (step 2)"},
		{ParseSteps, "10@-3s", "longer than 0"},
		{ParseSteps, "0@3s", "every step has a rate of 0"},
	} {
		if _, err := c.parse(c.text); err == nil || !strings.Contains(err.Error(), c.want) || c.text != "" && !strings.Contains(err.Error(), c.text) {
			t.Errorf("%q: error %v, want one with %q and the text itself", c.text, err, c.want)
		}
	}
}

// TestStringIsParsed: what a process calls itself is what the flag takes.
func TestStringIsParsed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProcess(t)
		var got Process
		var err error
		switch p.Kind {
		case KindPoisson, KindConstant, KindGamma:
			name, rate, _ := strings.Cut(p.String(), " ")
			got, err = ParseArrival(name)
			if rate != number(p.Rate)+"/s" {
				t.Fatalf("%v: the rate reads %q, want %v/s", p, rate, p.Rate)
			}
			got.Rate = p.Rate
		case KindRamp:
			got, err = ParseRamp(strings.TrimSuffix(strings.TrimPrefix(p.String(), "ramp "), "/s"))
		case KindSteps:
			got, err = ParseSteps(strings.TrimPrefix(p.String(), "steps "))
		default:
			t.Skip()
		}
		if err != nil || !reflect.DeepEqual(got, p) {
			t.Fatalf("%v is read as %v, %v", p, got, err)
		}
	})
}

func TestProcessInJSON(t *testing.T) {
	want := []string{
		`{"kind":"poisson","rate":100}`,
		`{"kind":"constant","rate":30}`,
		`{"kind":"gamma","rate":100,"burstiness":0.25}`,
		`{"kind":"ramp","from_rate":20,"to_rate":200}`,
		`{"kind":"steps","steps":["50@4s","0@1s","100@15s"]}`,
		`{"kind":"burst","requests":1000}`,
		`{"kind":"trace"}`,
	}
	for i, p := range samples() {
		text, err := json.Marshal(p)
		if err != nil || string(text) != want[i] {
			t.Errorf("%v is written as %s, %v, want %s", p, text, err, want[i])
		}
		var back Process
		p.Times = nil // not written
		if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(back, p) {
			t.Errorf("%s is read as %+v, %v", text, back, err)
		}
	}
	for _, text := range []string{`{"kind":"often"}`, `{"kind":"steps","steps":["10"]}`} {
		if err := json.Unmarshal([]byte(text), &Process{}); err == nil {
			t.Errorf("%s was read", text)
		}
	}
	if text, err := json.Marshal(Process{Kind: 99}); err == nil {
		t.Errorf("kind 99 was written as %s", text)
	}
}

func TestMeanRate(t *testing.T) {
	const s = time.Second
	steps := Process{Kind: KindSteps, Steps: []Step{{10, 30 * s}, {0, 10 * s}, {50, 10 * s}}}
	ramp := Process{Kind: KindRamp, FromRate: 10, ToRate: 100}
	trace := Process{Kind: KindTrace, Times: []time.Duration{0, 1 * s, 1 * s, 5 * s}}
	for _, c := range []struct {
		process           Process
		from, to, horizon time.Duration
		want              float64
	}{
		{Process{Rate: 20}, 2 * s, 12 * s, 12 * s, 20},
		{Process{Kind: KindConstant, Rate: 20}, 0, 12 * s, 12 * s, 20},
		{Process{Kind: KindGamma, Rate: 20, Burstiness: 0.1}, 0, 12 * s, 12 * s, 20},
		{Process{Rate: 20}, 0, 20 * s, 10 * s, 10}, // half of it is past the end
		{Process{Rate: 20}, 5 * s, 5 * s, 10 * s, 0},
		{ramp, 0, 90 * s, 90 * s, 55},
		{ramp, 0, 10 * s, 90 * s, 15},
		{ramp, 80 * s, 90 * s, 90 * s, 95},
		{steps, 0, 50 * s, 50 * s, 16},
		{steps, 20 * s, 45 * s, 50 * s, 14},
		{steps, 30 * s, 40 * s, 50 * s, 0},
		{steps, 40 * s, 60 * s, 60 * s, 25},
		{Process{Kind: KindBurst, Requests: 1000}, 0, 10 * s, 10 * s, 100},
		{Process{Kind: KindBurst, Requests: 1000}, 1, 10 * s, 10 * s, 0},
		{trace, 0, 4 * s, 10 * s, 0.75},
		{trace, 1 * s, 5 * s, 10 * s, 0.5},
		{trace, 1 * s, 5*s + 1, 10 * s, 3 / 4.000000001},
	} {
		if got := c.process.MeanRate(c.from, c.to, c.horizon); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%v in [%v, %v) of %v: %v, want %v", c.process, c.from, c.to, c.horizon, got, c.want)
		}
	}
}

// TestMeanRateIsWhatIsDrawn compares with the schedules of many seeds.
func TestMeanRateIsWhatIsDrawn(t *testing.T) {
	const seeds, horizon, from, to = 200, 20 * time.Second, 3 * time.Second, 17 * time.Second
	for _, p := range samples() {
		n := 0.0
		for seed := range uint64(seeds) {
			for _, d := range drawAll(t, p, horizon, seed) {
				if d >= from && d < to {
					n++
				}
			}
		}
		want := p.MeanRate(from, to, horizon) * (to - from).Seconds() * seeds
		dispersion := 1.0
		if p.Kind == KindGamma {
			dispersion /= p.Burstiness
		}
		if math.Abs(n-want) > normalCritical*math.Sqrt(want*dispersion) {
			t.Errorf("%v: %v arrivals in all, want about %.0f", p, n, want)
		}
	}
}

func TestLength(t *testing.T) {
	want := []time.Duration{0, 0, 0, 0, 20 * time.Second, 1, 19*time.Second + 1}
	for i, p := range samples() {
		if got := p.Length(); got != want[i] {
			t.Errorf("%v: length %v, want %v", p, got, want[i])
		}
		if length := p.Length(); length > 0 && len(drawAll(t, p, length, 1)) != len(drawAll(t, p, time.Hour, 1)) {
			t.Errorf("%v has arrivals after its length", p)
		}
		if rate := p.Rate > 0; p.HasRate() != rate {
			t.Errorf("%v: HasRate is %v", p, !rate)
		}
	}
}

func FuzzParsers(f *testing.F) {
	for _, text := range []string{"poisson", "gamma:0.5", "10..100", "10@30s,0@1m", "1e-300..1", "@", "..", ":"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, parse := range []func(string) (Process, error){ParseArrival, ParseRamp, ParseSteps} {
			p, err := parse(text)
			if err != nil {
				continue
			}
			if p.HasRate() {
				p.Rate = 1
			}
			if err := p.Check(); err != nil {
				t.Errorf("%q was read as %v: %v", text, p, err)
			}
			if s, err := p.Schedule(time.Second, 1); err != nil {
				t.Errorf("%q: %v", text, err)
			} else {
				s.Next()
			}
		}
	})
}
