package experiments

import (
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"llmsim-bench/bench/record"
	"llmsim-bench/bench/report"
	"llmsim-bench/experiments/simulate"
	"llmsim-bench/internal/wire"
)

var update = flag.Bool("update", false, "rewrite testdata")

func value(x float64) *float64 { return &x }

// madeUp is a prediction of two values and what came out.
func madeUp() (*Prediction, *Result) {
	p := &Prediction{
		Schema: predictionSchema, ID: "E3", Title: "Small", Hashes: Hashes{Output: "abc"}, Seeds: []uint64{1, 2},
		Values: []Predicted{
			{
				Key: "one: step_p50", Case: "one", Quantity: "step_p50", Unit: "ms", From: "one decode", ByFormula: true, Interval: "±1 %", Article: "4.5 ms",
				Seeds: []SeedValue{{Seed: 1, Value: 100, Low: 99, High: 101}, {Seed: 2, Value: 100, Low: 99, High: 101}},
			},
			{
				Key: "four ÷ one: ttft_max", Case: "four", Over: "one", Quantity: "ttft_max", From: "virtual time", Interval: "spread",
				Seeds: []SeedValue{{Seed: 1, Value: 2, Low: 1.5, High: 2.5}, {Seed: 2, Value: 2.1, Low: 1.6, High: 2.6}},
			},
		},
	}
	run := func(seed uint64, step, ttft float64) Run {
		c := func(name string, ttft float64) CaseResult {
			return CaseResult{
				Name:       name,
				Values:     map[string]Columns{"step_p50": {Simulated: value(step)}, "ttft_max": {Simulated: value(ttft), Server: value(ttft + 1), Client: value(ttft + 2)}},
				Accounting: record.Accounting{Scheduled: 10, OK: 10}, Replay: &simulate.Replayed{Requests: 10}, Client: "ok",
			}
		}
		return Run{Seed: seed, Cases: []CaseResult{c("one", 1000), c("four", ttft)}}
	}
	r := &Result{
		Schema: resultSchema, ID: "E3", Title: "Small", Prediction: "abc",
		Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Machine: report.Machine{CPU: "a CPU", Cores: 2},
		Runs: []Run{run(1, 100.5, 2000), run(2, 99.5, 2100)},
	}
	return p, r
}

func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		what   string
		change func(r *Result)
		failed []string
	}{
		{"as predicted", func(*Result) {}, nil},
		{"at the edge", func(r *Result) { r.Runs[0].Cases[0].Values["step_p50"] = Columns{Simulated: value(101)} }, nil},
		{"one run too high", func(r *Result) { r.Runs[1].Cases[0].Values["step_p50"] = Columns{Simulated: value(101.01)} }, []string{"one: step_p50"}},
		{"one run too low", func(r *Result) { r.Runs[0].Cases[0].Values["step_p50"] = Columns{Simulated: value(98.9)} }, []string{"one: step_p50"}},
		{"not measured", func(r *Result) { r.Runs[0].Cases[0].Values["step_p50"] = Columns{} }, []string{"one: step_p50"}},
		{"the client is not judged", func(r *Result) {
			v := r.Runs[0].Cases[1].Values["ttft_max"]
			v.Client, v.Server = value(9e9), value(9e9)
			r.Runs[0].Cases[1].Values["ttft_max"] = v
		}, nil},
		{"but where it alone counts", func(r *Result) { r.Runs[0].Cases[0].Values["step_p50"] = Columns{Client: value(5)} }, []string{"one: step_p50"}},
		{"a ratio", func(r *Result) { r.Runs[0].Cases[0].Values["ttft_max"] = Columns{Simulated: value(100)} }, []string{"four ÷ one: ttft_max"}},
		{"a failed request", func(r *Result) { r.Runs[1].Cases[1].Accounting.Failed = 1 }, []string{"four: failed requests"}},
		{"a replay that differs", func(r *Result) { r.Runs[0].Cases[0].Replay.Differences = 2 }, []string{"one: replay"}},
	} {
		p, r := madeUp()
		c.change(r)
		got, err := Compare(p, r, nil)
		if err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		var failed []string
		for _, row := range got.Failed() {
			failed = append(failed, row.Key)
		}
		if strings.Join(failed, "|") != strings.Join(c.failed, "|") || got.Unexplained(true) != len(c.failed) {
			t.Errorf("%s: %q failed, want %q", c.what, failed, c.failed)
		}
		if got.Replayed != 40 || got.Cases != 4 {
			t.Errorf("%s: %d replayed requests in %d cases, want 40 in 4", c.what, got.Replayed, got.Cases)
		}
	}
}

// An explanation takes away the exit code, not the failure.
func TestAnExplanationChangesNoVerdict(t *testing.T) {
	p, r := madeUp()
	r.Runs[0].Cases[0].Values["step_p50"] = Columns{Simulated: value(200)}
	got, err := Compare(p, r, []Explanation{{About: "one: step_p50", State: Inferred, Text: "dust"}, {About: "four: replay", State: Inferred, Text: "x"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Failed()) != 1 || got.Unexplained(true) != 0 || got.Failed()[0].verdict() != "FAILED (inferred)" {
		t.Errorf("%+v", got.Failed())
	}
}

// What failed on a busy machine only should be run again.
func TestABusyMachine(t *testing.T) {
	p, r := madeUp()
	r.Runs[0].Cases[0].Values["step_p50"] = Columns{Simulated: value(200)}
	r.Runs[0].Cases[0].Busy = true
	busy, err := Compare(p, r, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(busy.Failed()) != 1 || busy.Unexplained(true) != 1 || busy.Unexplained(false) != 0 || busy.Failed()[0].verdict() != "FAILED (busy machine)" {
		t.Errorf("%+v", busy.Failed())
	}
	r.Runs[1].Cases[0].Values["step_p50"] = Columns{Simulated: value(200)} // not busy
	if both, err := Compare(p, r, nil); err != nil || both.Unexplained(false) != 1 || both.Failed()[0].Busy() {
		t.Errorf("%+v, %v", both, err)
	}
}

func TestRequestsThatAreSeenLate(t *testing.T) {
	for _, c := range []struct {
		late  int64
		scale float64
		want  bool
	}{{0, 0, false}, {1, 0, false}, {2, 1, true}, {50, 4, false}} {
		r := CaseResult{Accounting: record.Accounting{Scheduled: 100}, Late: &wire.LateArrivals{Requests: c.late}}
		if got := r.seenLate(&Case{TimeScale: c.scale}); got != c.want {
			t.Errorf("%d of 100 seen late at a time scale of %v: busy %v", c.late, c.scale, got)
		}
	}
}

func TestAResultOfAnotherPredictionIsRefused(t *testing.T) {
	p, r := madeUp()
	r.Prediction = "def"
	if _, err := Compare(p, r, nil); err == nil || !strings.Contains(err.Error(), "run it again with: llmsim-bench experiments run E3") {
		t.Error(err)
	}
	p, r = madeUp()
	r.Runs = r.Runs[:1]
	if _, err := Compare(p, r, nil); err == nil || !strings.Contains(err.Error(), "no run of seed 2") {
		t.Error(err)
	}
}

// In virtual time what virtual time predicts is not held against itself.
func TestVirtualResultsAreHeldAgainstFormulas(t *testing.T) {
	p, r := madeUp()
	r.Virtual = true
	got, err := Compare(p, r, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range got.Rows {
		if !row.ByFormula && !row.Identity {
			t.Errorf("%s is compared", row.Key)
		}
	}
}

func TestExplanations(t *testing.T) {
	good := "- about: 'a: b'\n  state: proven\n  text: cause\n  control: without it, it is gone\n- about: 'c: d'\n  state: inferred\n  text: maybe\n"
	all, err := readExplanations("x.yml", []byte(good))
	if err != nil || len(all) != 2 || find(all, "c: d").Text != "maybe" || find(all, "e") != nil {
		t.Errorf("%v, %v", all, err)
	}
	if all, err := readExplanations("x.yml", nil); err != nil || len(all) != 0 {
		t.Errorf("an empty file: %v, %v", all, err)
	}
	for text, says := range map[string]string{
		"- about: a\n  state: proven\n  text: b\n": "has a control",
		"- about: a\n  state: sure\n  text: b\n":   `state is "sure"`,
		"- about: a\n  state: inferred\n":          "text must both be there",
		"- about: a\n  cause: b\n":                 "x.yml",
		"about: a\n":                               "must be a list",
	} {
		if _, err := readExplanations("x.yml", []byte(text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want …%s…", text, err, says)
		}
	}
}

func TestReadme(t *testing.T) {
	p, r := madeUp()
	r.Runs[0].Cases[0].Values["step_p50"] = Columns{Simulated: value(12345)}
	r.Runs[0].Cases[1].Replay.Differences = 1
	r.Runs[1].Cases[1].Client = "limited"
	c, err := Compare(p, r, []Explanation{{About: "one: step_p50", State: Proven, Text: "dust\nin it", Control: "cleaned: 100 ms"}})
	if err != nil {
		t.Fatal(err)
	}
	got := readme([]Experiment{small(), {ID: "E4", Title: "None"}}, []*Comparison{c, nil})
	const golden = "testdata/readme.md"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the page is now (-update keeps it):\n%s", got)
	}
}

func TestNumbersForPeople(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", 1: "1", 4.5332: "4.533", 0.018646: "0.01865", 182637.4: "182,637", 15631: "15,631", 1639.44: "1639", -12345.6: "-12,346", 2.5e-7: "2.5e-07",
	} {
		if got := short(x); got != want {
			t.Errorf("%v is %q, want %q", x, got, want)
		}
	}
}
