package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"llmsim-bench/bench/report"
)

func simulateTo(t *testing.T, out string, more ...string) (stdout string) {
	t.Helper()
	code, stdout, stderr := finished(t, append([]string{"simulate", "--duration", "20s", "--out", out}, more...)...)
	if code != exitOK {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	return stdout
}

func TestSimulateIsTheSameOnEveryRun(t *testing.T) {
	dir := t.TempDir()
	var results, traces, tables [2][]byte
	for i := range 2 {
		out, trace := filepath.Join(dir, "r.json"), filepath.Join(dir, "t.jsonl")
		tables[i] = []byte(simulateTo(t, out, "--rates", "10,100", "--steps-out", trace))
		var err error
		if results[i], err = os.ReadFile(out); err != nil {
			t.Fatal(err)
		}
		if traces[i], err = os.ReadFile(trace); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(results[0], results[1]) || !bytes.Equal(traces[0], traces[1]) || !bytes.Equal(tables[0], tables[1]) {
		t.Error("two runs with one seed differ")
	}

	var r report.Result
	if err := json.Unmarshal(results[0], &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Points) != 2 {
		t.Fatalf("%d points, want 2", len(r.Points))
	}
	for _, p := range r.Points {
		if err := p.Accounting.Check(); err != nil || p.Accounting.OK == 0 {
			t.Errorf("%+v: %v", p.Accounting, err)
		}
		for name, c := range p.Metrics {
			if c.Client != nil || c.Server != nil || c.Simulated == nil {
				t.Errorf("%s has other columns than the simulated one: %+v", name, c)
			}
		}
		for _, name := range []string{"ttft", "tpot", "e2e", "itl", "queue"} {
			if p.Metrics[name].Simulated == nil {
				t.Errorf("%s is missing", name)
			}
		}
		if p.Steps == nil || p.Steps.Count == 0 || len(p.Steps.Series) < 20 {
			t.Errorf("steps: %+v", p.Steps)
		}
	}
	light, heavy := r.Points[0], r.Points[1]
	if light.Metrics["queue"].Simulated.P50 >= heavy.Metrics["queue"].Simulated.P50 || light.Steps.BatchSize.Mean >= heavy.Steps.BatchSize.Mean {
		t.Error("more load makes neither more queueing nor larger batches")
	}

	lines := bytes.Split(bytes.TrimSpace(traces[0]), []byte("\n"))
	if int64(len(lines)) < light.Steps.Count+heavy.Steps.Count {
		t.Errorf("%d trace lines for %d steps", len(lines), light.Steps.Count+heavy.Steps.Count)
	}
	var step struct {
		StartNS   int64 `json:"start_ns"`
		EndNS     int64 `json:"end_ns"`
		Tokens    int
		Sequences []struct{ New int }
	}
	if err := json.Unmarshal(lines[0], &step); err != nil {
		t.Fatal(err)
	}
	if step.EndNS <= step.StartNS || len(step.Sequences) != 1 || step.Sequences[0].New != 512 || step.Tokens != 512 {
		t.Errorf("first step: %s", lines[0])
	}
}

func TestSimulateAClosedLoop(t *testing.T) {
	out := filepath.Join(t.TempDir(), "r.json")
	table := simulateTo(t, out, "--concurrency", "1,64", "--prompt-tokens", "128", "--output-tokens", "200")
	if !strings.Contains(table, "64 at once") || !strings.Contains(table, "in virtual time") {
		t.Errorf("table:\n%s", table)
	}
	var r report.Result
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	// One stream decodes in 13.48 GB ÷ 3,000 GB/s and the KV of about 228 tokens.
	if got := r.Points[0].Metrics["tpot"].Simulated.P50; got < 4.49 || got > 4.58 {
		t.Errorf("one stream decodes in %v ms a token", got)
	}
	// Sixty-four read 64 times the KV in the same pass.
	if one, all := r.Points[0].Steps.Duration.P50, r.Points[1].Steps.Duration.P50; all/one < 1.5 || all/one > 1.6 {
		t.Errorf("64 streams take %.2f times the step of one, want about 1.56", all/one)
	}
}

func TestASimulationThatCannotBe(t *testing.T) {
	for _, c := range []struct {
		name, says string
		args       []string
	}{
		{"no steps", `engine "fixed_rate" has no steps`, []string{"--model", "sim-fixed"}},
		{"no model", `there is no model "gpt"`, []string{"--model", "gpt"}},
		{"both loops", "give one of --rates, --concurrency", []string{"--rates", "1", "--concurrency", "1"}},
		{"bad concurrency", `"0" is not possible`, []string{"--concurrency", "4,0"}},
		{"context", "in a context of 32768", []string{"--prompt-tokens", "40000"}},
		{"no file", "no such file", []string{"--models", "nowhere.yml"}},
		{"no trace", "--steps-out", []string{"--steps-out", t.TempDir()}},
		{"no result", "no such file", []string{"--out", filepath.Join("nowhere", "r.json")}},
		{"no log", "no such file", []string{"--replay", "nowhere.jsonl"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, stdout, stderr := finished(t, append([]string{"simulate", "--duration", "1s"}, c.args...)...)
			if code != exitError || !strings.Contains(stderr, c.says) || stdout != "" {
				t.Errorf("exit code %d, printed %q, said %q, want …%s…", code, stdout, stderr, c.says)
			}
		})
	}
}

func TestALiveRunIsReplayedToTheNanosecond(t *testing.T) {
	events := filepath.Join(t.TempDir(), "events.jsonl")
	serve := program(t, "serve", "--listen", "127.0.0.1:0", "--event-log", events)
	url := startServe(t, serve)
	code, _, stderr := finished(t, "run", "--url", url, "--model", "qwen-mock-batched", "--rate", "100", "--duration", "2s", "--warmup", "0s",
		"--output-tokens", "16", "--timeout", "300ms", "--quiet")
	if code == exitError {
		t.Fatal(stderr)
	}
	if err := serve.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := serve.Wait(); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := finished(t, "simulate", "--replay", events)
	if code != exitOK || !strings.Contains(stdout, "equal the live run to the nanosecond") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}

	// A log whose times were changed must not pass.
	log, err := os.ReadFile(events)
	if err != nil {
		t.Fatal(err)
	}
	changed := bytes.Replace(log, []byte(`"due_ns":[`), []byte(`"due_ns":[1,`), 1)
	if err := os.WriteFile(events, changed, 0o600); err != nil {
		t.Fatal(err)
	}
	if code, stdout, _ := finished(t, "simulate", "--replay", events); code != exitError || !strings.Contains(stdout, "live tokens at") {
		t.Errorf("a changed log passed: exit code %d, %s", code, stdout)
	}
	if err := os.WriteFile(events, log[:len(log)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	if code, stdout, stderr := finished(t, "simulate", "--replay", events); code != exitOK {
		t.Errorf("a log that was cut: exit code %d, %s%s", code, stdout, stderr)
	}
}
