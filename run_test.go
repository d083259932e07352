package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"llmsim-bench/bench/report"
	"llmsim-bench/bench/summary"
	"llmsim-bench/internal/wire"
	"llmsim-bench/simserver/simtest"
)

// cachingModels has a prefix cache and runs a thousand times as fast as it would.
const cachingModels = `
hardware:
  h100-80gb: {hbm_gib: 80, memory_bandwidth_gbps: 3000, peak_tflops: 989}
models:
  - name: caching
    context_length: 4096
    tokenizer: regex
    engine: scheduler
    hardware: h100-80gb
    weights: {parameters_billions: 6.74, bytes_per_parameter: 2}
    kv_cache: {bytes_per_token: 524288}
    scheduler: {profile: vllm-0.23}
time_scale: 1000
`

// runOf runs the command and reads its result.
func runOf(t *testing.T, args ...string) (code int, result *report.Result, stdout, stderr string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "r.json")
	code, stdout, stderr = finished(t, append(append([]string{"run"}, args...), "--out", out)...)
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if err := json.Unmarshal(data, &result); err != nil {
		t.Fatal(err)
	}
	return code, result, stdout, stderr
}

// Clients that leave after ten tokens are seen to leave by the server.
func TestTheServerSeesEveryClientLeave(t *testing.T) {
	t.Parallel()
	sim := simtest.Start(t)
	_, result, stdout, _ := runOf(t, "--url", sim.URL, "--model", "sim-fixed", "--rate", "100", "--duration", "1s", "--warmup", "0s",
		"--prompt-tokens", "64", "--output-tokens", "200", "--cancel-after-tokens", "10", "--cancel-fraction", "0.5")
	p := result.Points[0]
	left := p.Accounting.CancelledByKind["after_tokens"]
	if left < 20 || left != p.Accounting.Cancelled || p.Accounting.OK < 20 {
		t.Fatalf("%+v, want about half to leave", p.Accounting)
	}
	var seen int64
	for _, n := range p.ServerRequests.Aborted {
		seen += n
	}
	if seen != left || p.ServerRequests.Completed != p.Accounting.OK {
		t.Errorf("%d clients left and %d had their answer, the server counts %+v", left, p.Accounting.OK, p.ServerRequests)
	}
	if !strings.Contains(stdout, "clients left early: after_tokens") {
		t.Errorf("printed\n%s", stdout)
	}
}

// Ten thousand prompts are distinct to a server that looks for what they share.
func TestAPrefixCacheFindsNothingInDistinctPrompts(t *testing.T) {
	sim := simtest.Start(t, simtest.WithModels(cachingModels))
	args := []string{
		"--url", sim.URL, "--model", "caching", "--burst", "10000", "--max-in-flight", "64", "--duration", "1s",
		"--prompt-tokens", "64", "--output-tokens", "1",
	}
	_, result, _, stderr := runOf(t, args...)
	p := result.Points[0]
	if p.Accounting.OK != 10000 {
		t.Fatalf("%+v: %s", p.Accounting, stderr)
	}
	distinct := prefixCache(t, sim)
	if distinct.Requests < 10000 || float64(distinct.Hits) > 0.001*float64(distinct.Queries) {
		t.Errorf("%+v, want next to no hits", distinct)
	}
	// The same server does find what prompts share.
	args[5] = "1000" // as many will do
	runOf(t, append(args, "--shared-prefix", "48", "--seed", "2")...)
	shared := prefixCache(t, sim)
	if hits, queries := shared.Hits-distinct.Hits, shared.Queries-distinct.Queries; float64(hits) < 0.5*float64(queries) {
		t.Errorf("with 48 of 64 tokens shared: %d of %d tokens were found", hits, queries)
	}
}

// prefixCache is what a server has counted since it began.
func prefixCache(t *testing.T, sim *simtest.Simulator) wire.PrefixCache {
	t.Helper()
	response, err := http.Get(strings.TrimSuffix(sim.URL, "/v1") + "/metrics/summary")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var s wire.Summary
	if err := json.NewDecoder(response.Body).Decode(&s); err != nil {
		t.Fatal(err)
	}
	return s.Models["caching"].Steps.PrefixCache
}

// A server that refuses half of the requests at once is no success.
func TestHalfRefusedIsAFailure(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/models" {
			fmt.Fprint(w, `{"data":[{"id":"m","owned_by":"somebody"}]}`)
			return
		}
		if n.Add(1)%2 == 0 && r.ContentLength > 3000 { // a prompt of the load
			http.Error(w, `{"error":{"message":"slow down"}}`, http.StatusTooManyRequests)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{"content":"x"}}]}`+"\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(server.Close)
	args := []string{"--url", server.URL + "/v1", "--rate", "100", "--arrival", "constant", "--duration", "500ms", "--warmup", "0s"}
	code, result, stdout, stderr := runOf(t, args...)
	if code != exitFailures && code != exitLimited || !strings.Contains(stdout, "failed: rate_limited, such as: slow down") {
		t.Errorf("exit code %d, said %q and printed\n%s", code, stderr, stdout)
	}
	a := result.Points[0].Accounting
	if ttft := result.Points[0].Metrics[summary.TTFT].Client; a.OK+a.Failed != 50 || a.FailedByKind["rate_limited"] < 20 || ttft.Count != a.OK {
		t.Errorf("%+v, %d values of ttft", a, ttft.Count)
	}
	if code, _, _, stderr := runOf(t, append(args, "--max-failures", "30")...); code != exitOK && code != exitLimited {
		t.Errorf("exit code %d where 30 failures are allowed: %s", code, stderr)
	}
}

// What had no chance to end is told, and is no success.
func TestRequestsThatAreCutOffAreAFailure(t *testing.T) {
	t.Parallel()
	sim := simtest.Start(t)
	code, result, stdout, stderr := runOf(t, "--url", sim.URL, "--model", "sim-fixed", "--rate", "200", "--duration", "500ms", "--warmup", "0s",
		"--prompt-tokens", "16", "--output-tokens", "1000", "--max-in-flight", "1", "--timeout", "200ms")
	a := result.Points[0].Accounting
	if a.Dropped == 0 || code != exitFailures && code != exitLimited || !strings.Contains(stdout, "never sent") {
		t.Errorf("exit code %d with %+v, said %q and printed\n%s", code, a, stderr, stdout)
	}
}

// What a run that crashed left behind is not overwritten.
func TestRecordsOfACrashAreKept(t *testing.T) {
	records := filepath.Join(t.TempDir(), "r.jsonl")
	if err := os.WriteFile(records+".partial", []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := finished(t, "run", "--url", "http://127.0.0.1:9/v1", "--rate", "1", "--records", records)
	if code != exitError || !strings.Contains(stderr, "did not end") {
		t.Errorf("exit code %d, said %q", code, stderr)
	}
	if left, err := os.ReadFile(records + ".partial"); err != nil || string(left) != "{}\n" {
		t.Errorf("%q is left, %v", left, err)
	}
}

// Each way to say a load makes the requests that it says.
func TestLoadsThatChange(t *testing.T) {
	t.Parallel()
	sim := simtest.Start(t)
	trace := filepath.Join(t.TempDir(), "trace.csv")
	if err := os.WriteFile(trace, []byte("at_s,prompt_tokens,output_tokens\n0,20,1\n0.1,30,2\n0.2,40,3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args             []string
		arrivals         string
		atLeast, atMost  int64
		offered, seconds float64
	}{
		{[]string{"--steps", "50@200ms,0@200ms,100@200ms"}, "steps 50@200ms,0@200ms,100@200ms", 10, 60, 50, 0.6},
		{[]string{"--ramp", "0..200", "--duration", "1s", "--warmup", "0s"}, "ramp 0..200/s", 50, 160, 100, 1},
		{[]string{"--burst", "40", "--duration", "1s"}, "burst of 40", 40, 40, 40, 1},
		{[]string{"--trace", trace}, "trace of 3", 3, 3, 0, 0},
		{[]string{"--trace", trace, "--trace-speed", "2", "--duration", "150ms"}, "trace of 3", 3, 3, 20, 0.15},
		{[]string{"--concurrency", "2", "--think", "50ms", "--duration", "500ms", "--warmup", "0s"}, "2 at once, thinking 50ms", 4, 20, 0, 0.5},
		{[]string{"--rate", "50", "--arrival", "gamma:0.5", "--duration", "1s", "--warmup", "0s"}, "gamma:0.5 50/s", 20, 100, 50, 1},
	} {
		code, result, _, stderr := runOf(t, append(append([]string{"--url", sim.URL, "--model", "sim-instant"}, tt.args...), shortPrompts(tt.args)...)...)
		if code != exitOK && code != exitLimited {
			t.Fatalf("%v: exit code %d: %s", tt.args, code, stderr)
		}
		p := result.Points[0]
		if p.Arrivals != tt.arrivals || p.Accounting.OK < tt.atLeast || p.Accounting.OK > tt.atMost {
			t.Errorf("%v: %q, %+v", tt.args, p.Arrivals, p.Accounting)
		}
		if tt.seconds != 0 && (p.DurationS != tt.seconds || p.OfferedRPS != tt.offered) {
			t.Errorf("%v: %v s, %v/s, want %v and %v", tt.args, p.DurationS, p.OfferedRPS, tt.seconds, tt.offered)
		}
		// What takes no time to simulate makes the same requests.
		code, stdout, stderr := finished(t, append(append([]string{"simulate", "--model", defaultModel}, simulated(tt.args)...), shortPrompts(tt.args)...)...)
		if code != exitOK || !strings.Contains(tt.args[0], "concurrency") && !strings.Contains(stdout, tt.arrivals) {
			t.Errorf("simulate %v: exit code %d, said %q and printed\n%s", tt.args, code, stderr, stdout)
		}
	}
}

// shortPrompts are flags for short requests, where a trace does not say them.
func shortPrompts(args []string) []string {
	if args[0] == "--trace" {
		return nil
	}
	return []string{"--prompt-tokens", "16..32", "--output-tokens", "2"}
}

// simulated are the flags of a load that simulate has too.
func simulated(args []string) []string {
	switch args[0] {
	case "--concurrency":
		return []string{"--concurrency", args[1], "--duration", "500ms"}
	case "--rate":
		return append([]string{"--rates", args[1]}, args[2:]...)
	}
	return args
}

func TestALoadThatCannotBe(t *testing.T) {
	for _, tt := range []struct {
		says string
		args []string
	}{
		{"give one of --rate, --concurrency, --ramp, --steps, --burst, --trace", nil},
		{"give one of --rate", []string{"--rate", "1", "--burst", "2"}},
		{"--think is possible with --concurrency only", []string{"--rate", "1", "--think", "1s"}},
		{"--arrival is possible with --rate only", []string{"--burst", "1", "--arrival", "constant"}},
		{"--ramp: ", []string{"--ramp", "5"}},
		{"--steps: ", []string{"--steps", "5@soon"}},
		{"no such file", []string{"--trace", "nowhere.csv"}},
		{"the trace says what --prompt-tokens would", []string{"--trace", "nowhere.csv", "--prompt-tokens", "5"}},
		{"--arrival: ", []string{"--rate", "1", "--arrival", "never"}},
		{"--api: there is no API", []string{"--rate", "1", "--api", "soap"}},
		{"--timestamps: ", []string{"--rate", "1", "--timestamps", "sundial"}},
		{"--proxy: ", []string{"--rate", "1", "--proxy", "nowhere"}},
		{"--ca: ", []string{"--rate", "1", "--ca", "nowhere.pem"}},
		{"--cancel-fraction needs", []string{"--rate", "1", "--cancel-fraction", "0.5"}},
		{"a fraction of 2 of the clients can't leave", []string{"--rate", "1", "--cancel-fraction", "2", "--cancel-after", "1s"}},
		{"-1 retries are not possible", []string{"--rate", "1", "--retries", "-1"}},
		{"progress timeout -1s is not possible", []string{"--rate", "1", "--progress-timeout", "-1s"}},
		{"--record-text has no effect: it is for --records", []string{"--rate", "1", "--record-text"}},
		{"--cancel-after-tokens is not possible with 0", []string{"--rate", "1", "--cancel-after-tokens", "0"}},
		{"--insecure has no effect: http://127.0.0.1:9/v1 is no https URL", []string{"--rate", "1", "--insecure"}},
		{"--output-tokens has no effect: the embeddings API", []string{"--rate", "1", "--api", "embeddings", "--output-tokens", "5"}},
		{"--ignore-eos has no effect: the messages API", []string{"--rate", "1", "--api", "messages", "--ignore-eos"}},
		{"--trace-speed 0 is not possible", []string{"--trace", "run.go", "--trace-speed", "0"}},
		{"--steps lasts 5s, so that a --warmup of 9s leaves nothing", []string{"--steps", "10@5s", "--warmup", "9s"}},
		{"--out and --records name the same file", []string{"--rate", "1", "--out", "x.json", "--records", "./x.json"}},
		{"--out and --records name the same file", []string{"--rate", "1", "--out", "x.json.partial", "--records", "x.json"}},
		{"rate of NaN", []string{"--rate", "NaN"}},
		{"the embeddings API does not stream", []string{"--rate", "1", "--api", "embeddings", "--cancel-after-tokens", "1"}},
	} {
		code, _, stderr := finished(t, append([]string{"run", "--url", "http://127.0.0.1:9/v1"}, tt.args...)...)
		if code != exitError || !strings.Contains(stderr, tt.says) {
			t.Errorf("%v: exit code %d, said %q, want …%s…", tt.args, code, stderr, tt.says)
		}
	}
}
