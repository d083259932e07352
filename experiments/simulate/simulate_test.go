package simulate

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"llmsim-bench/bench"
	"llmsim-bench/bench/workload"
	"llmsim-bench/simserver/config"
)

// baseModel is the built-in scheduler model.
func baseModel(t *testing.T) config.Model {
	t.Helper()
	for _, m := range config.Default().Models {
		if m.Engine == config.EngineScheduler {
			return m
		}
	}
	t.Fatal("no scheduler model is built in")
	return config.Model{}
}

func TestPointsHaveOwnRequestsAndEngines(t *testing.T) {
	c := Config{
		Model: baseModel(t),
		Workload: bench.Workload{
			Loads: []bench.Load{bench.AtRate(20), bench.AtRate(20)}, Duration: 10 * time.Second, Warmup: time.Second,
			Shape: workload.Exactly(512, 16), Seed: 3,
		},
	}
	r, err := Run(c)
	if err != nil {
		t.Fatal(err)
	}
	a, b := r.Points[0], r.Points[1]
	if a.Accounting.OK == b.Accounting.OK && a.Metrics["ttft"].Simulated.Mean == b.Metrics["ttft"].Simulated.Mean {
		t.Error("two points of one rate have the same arrivals")
	}
	// Alone on the engine a 512-token prompt takes 6.98 ms of compute, and waits at
	// most for one step.
	if got := a.Metrics["ttft"].Simulated.P50; got < 6.97 || got > 20 {
		t.Errorf("TTFT p50 %v ms", got)
	}
	if a.AchievedRPS < 15 || a.AchievedRPS > 25 {
		t.Errorf("%v requests a second achieved of 20", a.AchievedRPS)
	}
}

// Distinct prompts must find nothing in a prefix cache, and the engine must have
// looked.
func TestDistinctPromptsHitNoPrefixCache(t *testing.T) {
	m := baseModel(t)
	m.Scheduler.Options.Profile = "vllm-0.23"
	r, err := Run(Config{Model: m, Workload: bench.Workload{
		Loads: []bench.Load{bench.AtRate(50)}, Duration: 20 * time.Second, Shape: workload.Exactly(512, 16), Seed: 1,
	}})
	if err != nil {
		t.Fatal(err)
	}
	if cache := r.Points[0].Steps.PrefixCache; cache.Requests < 500 || cache.Hits != 0 {
		t.Errorf("%+v, want hundreds of lookups and no hit", cache)
	}
}

func TestAReplayNeedsTheSameModel(t *testing.T) {
	models := config.Default()
	for _, c := range []struct{ name, log, says string }{
		{"empty", "", "is empty"},
		{"no log", "hello\n", "line 1"},
		{"unknown model", `{"event":"model","model":"gpt","timeline":"x"}` + "\n", "the configuration lacks"},
		{"another configuration", `{"event":"model","model":"qwen-mock-batched","timeline":"x"}` + "\n", "another configuration"},
		{"event before its model", `{"event":"arrive","model":"m","id":1}` + "\n", "no line before it introduces"},
	} {
		_, err := Replay(strings.NewReader(c.log), models)
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error %v, want …%s…", c.name, err, c.says)
		}
	}
}

// A trace has a line for each step, whose tokens are those of its sequences.
func TestTraceOfOneRequest(t *testing.T) {
	var trace bytes.Buffer
	_, err := Run(Config{Model: baseModel(t), Trace: &trace, Workload: bench.Workload{
		Loads: []bench.Load{{Concurrency: 1}}, Duration: time.Millisecond, Shape: workload.Exactly(9000, 2), Seed: 1,
	}})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(trace.String()), "\n")
	for i, want := range []string{
		`"tokens":8192,"sequences":[{"request":0,"context":0,"new":8192,"prefill":true,"admitted":"new"}]`,
		`"tokens":808,"sequences":[{"request":0,"context":8192,"new":808,"prefill":true}]`,
		`"tokens":1,"sequences":[{"request":0,"context":9000,"new":1}]`,
	} {
		if i >= len(lines) || !strings.Contains(lines[i], want) {
			t.Fatalf("line %d of %d lacks %s:\n%s", i, len(lines), want, trace.String())
		}
	}
}
