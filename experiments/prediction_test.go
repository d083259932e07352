package experiments

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"llmsim-bench/bench"
	"llmsim-bench/bench/load"
	"llmsim-bench/bench/workload"
	"llmsim-bench/experiments/simulate"
)

// small is an experiment that takes a moment.
func small() Experiment {
	shape := workload.Shape{Prompt: workload.Fixed(64), Output: workload.Fixed(8)}
	return Experiment{
		ID: "E3", Title: "Small", Question: "How long is a step?", Meaning: "Not long.",
		Cases: []Case{
			{Name: "one", Model: base, Load: bench.Users(1), Shape: shape, Duration: 200 * time.Millisecond},
			{Name: "four", Model: smallCache, Load: bench.Users(4), Shape: shape, Duration: 200 * time.Millisecond},
			{
				Name: "leaving", Model: base, Load: bench.Users(2), Shape: workload.Shape{Prompt: workload.Fixed(64), Output: workload.Fixed(500)},
				Duration: 200 * time.Millisecond, Leave: load.Leave{Fraction: 1, AfterTokens: 4},
			},
		},
		Expect: []Expectation{
			{Case: "one", Quantity: "step_p50", Interval: within(tolerance), Formula: byFormula(decodeMS(1, 68), "one decode"), Article: "4.5 ms"},
			{Case: "four", Quantity: "ttft_max", Interval: spread()},
			{Case: "four", Over: "one", Quantity: "step_p50", Interval: spread()},
			{Case: "four", Quantity: "batch_max", Interval: equal()},
			{Case: "one", Quantity: "scheduled_tokens", Interval: spread()},
			{Case: "leaving", Quantity: "completed", Interval: equal()},
			{Case: "leaving", Quantity: "left_tokens_max", Interval: between(4, 20), Formula: byFormula(4, "as asked")},
		},
		Plot: Plot{Quantity: "step_p50", Beside: []string{"ttft_max"}, Axis: "users"},
	}
}

// someDelays are a machine's.
func someDelays() MachineDelays {
	d := simulate.Distribution{0, 500_000, 2_000_000}
	return MachineDelays{[]DelayRound{{
		Turnaround: map[int]simulate.Distribution{1: {1000, 1000}, 16: d, 64: d}, Apart: d,
		Arrival: d, Bursts: []simulate.Distribution{d, {0, 3_000_000}}, Leaving: d,
	}}}
}

func predicted(t *testing.T, e Experiment) *Prediction {
	t.Helper()
	p, err := predict(&e, someDelays(), []uint64{1, 2}, 4)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPredictionsAreTheSameAgain(t *testing.T) {
	a, err := json.Marshal(predicted(t, small()))
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(predicted(t, small()))
	if err != nil {
		t.Fatal(err)
	}
	if string(a) != string(b) {
		t.Errorf("two predictions of one experiment:\n%s\n%s", a, b)
	}
	var read Prediction
	if err := json.Unmarshal(a, &read); err != nil {
		t.Fatal(err)
	}
	e := small()
	if err := read.check(&e); err != nil {
		t.Errorf("a prediction that was written and read: %v", err)
	}
}

func TestIntervals(t *testing.T) {
	p := predicted(t, small())
	for _, v := range p.Values {
		for _, s := range v.Seeds {
			if !(s.Low <= s.Value && s.Value <= s.High) {
				t.Errorf("%s, seed %d: %v is not within %v to %v", v.Key, s.Seed, s.Value, s.Low, s.High)
			}
		}
	}
	step, ttft, ratio, batch := p.Values[0].Seeds[0], p.Values[1].Seeds[0], p.Values[2].Seeds[0], p.Values[3].Seeds[0]
	if step.Value != round(decodeMS(1, 68)) || step.Low != round(step.Value*0.99) || step.High != round(step.Value*1.01) || step.Undelayed != nil {
		t.Errorf("a formula within 1 %%: %+v", step)
	}
	if ttft.Undelayed == nil || ttft.High-ttft.Low <= 0.02*ttft.Value*1.01 {
		t.Errorf("a spread of runs with delays up to 2 ms: %+v", ttft)
	}
	if want := decodeMS(4, 68) / decodeMS(1, 68); ratio.Value < want-0.005 || ratio.Value > want+0.005 {
		t.Errorf("four streams' step is %v times one's", ratio.Value)
	}
	if batch.Value != 4 || batch.Low != 4 || batch.High != 4 {
		t.Errorf("an equality: %+v", batch)
	}
	if completed := p.Values[5].Seeds[0]; completed.Value != 0 {
		t.Errorf("%v answers end although every client leaves", completed.Value)
	}
	if !p.Values[0].ByFormula || p.Values[1].ByFormula || p.Values[2].Unit != "" || p.Values[1].Unit != "ms" {
		t.Errorf("%+v", p.Values)
	}
}

func TestStalePredictions(t *testing.T) {
	for _, c := range []struct {
		says   string
		change func(e *Experiment, p *Prediction)
	}{
		{"the hash of its definition", func(e *Experiment, _ *Prediction) { e.Cases[0].Shape.Output = workload.Fixed(9) }},
		{"the hash of its definition", func(e *Experiment, _ *Prediction) { e.Expect[0].Formula.Value *= 1.001 }},
		{"the hash of its models", func(_ *Experiment, p *Prediction) { p.Hashes.Models = "0123" }},
		{"which were edited", func(_ *Experiment, p *Prediction) { p.Values[1].Seeds[0].High *= 2 }},
		{"which were edited", func(_ *Experiment, p *Prediction) { p.Delays.Rounds[0].Turnaround[16][2]++ }},
		{"what virtual time and the formulas predict", func(e *Experiment, p *Prediction) {
			p.Values[1].Seeds[0].High *= 2
			p.Hashes, _ = p.hashes(e)
		}},
	} {
		e, p := small(), predicted(t, small())
		c.change(&e, p)
		err := p.check(&e)
		var stale *StaleError
		if !errors.As(err, &stale) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "predict --replace E3") {
			t.Errorf("error %v, want …%s…", err, c.says)
		}
	}
}

// What says the same in other words makes nothing stale.
func TestThePlotIsNoPartOfTheDefinition(t *testing.T) {
	e, p := small(), predicted(t, small())
	e.Plot.Axis, e.Quick.Live = "people", true
	if err := p.check(&e); err != nil {
		t.Error(err)
	}
}

func TestAnExpectationWithoutAValueIsRefused(t *testing.T) {
	e := small()
	e.Expect = []Expectation{{Case: "one", Quantity: "left_tokens_max", Interval: equal()}}
	if _, err := predict(&e, someDelays(), []uint64{1}, 1); err == nil || !strings.Contains(err.Error(), "needs a formula") {
		t.Errorf("a quantity that virtual time lacks: %v", err)
	}
}

func TestBadPredictionsAreRefused(t *testing.T) {
	for says, change := range map[string]func(p *Prediction){
		"there must be one or more":     func(p *Prediction) { p.Seeds = nil },
		"perturbed_runs is -1":          func(p *Prediction) { p.PerturbedRuns = -1 },
		"there are no rounds":           func(p *Prediction) { p.Delays = MachineDelays{} },
		"there is no bursts_ns":         func(p *Prediction) { p.Delays.Rounds[0].Bursts = nil },
		"there is no turnaround_ns":     func(p *Prediction) { p.Delays.Rounds[0].Turnaround = nil },
		"quantile 1 is 5 ns, must be 9": func(p *Prediction) { p.Delays.Rounds[0].Turnaround[16] = simulate.Distribution{9, 5} },
	} {
		e, p := small(), predicted(t, small())
		change(p)
		p.Hashes, _ = p.hashes(&e)
		if err := p.check(&e); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("error %v, want …%s…", err, says)
		}
	}
}
