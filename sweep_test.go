package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"llmsim-bench/bench/record"
	"llmsim-bench/bench/report"
	"llmsim-bench/simserver/simtest"
)

// fastModels are quick enough for many requests in a short test.
const fastModels = `
models:
  - name: fast
    context_length: 4096
    tokenizer: regex
    engine: fixed_rate
    latency: {overhead_ms: 2, prefill_tokens_per_second: 100000, itl_ms: 4}
  - name: slow
    context_length: 4096
    tokenizer: regex
    engine: fixed_rate
    latency: {overhead_ms: 3600000, prefill_tokens_per_second: 100000, itl_ms: 4}
`

// sweepOf measures quickly; the figures of so short a run mean nothing, so a
// verdict about the client is as good as none.
func sweepOf(t *testing.T, sim *simtest.Simulator, more ...string) (code int, result report.Result, stdout, stderr string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "r.json")
	code, stdout, stderr = finished(t, append([]string{
		"sweep", "--url", sim.URL, "--model", "fast", "--rates", "50,100",
		"--duration", "500ms", "--warmup", "100ms", "--output-tokens", "8", "--out", out,
	}, more...)...)
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatalf("no result: %v\n%s", err, stderr)
	}
	if err := json.Unmarshal(data, &result); err != nil {
		t.Fatal(err)
	}
	return code, result, stdout, stderr
}

func TestSweepOnTheBundledSimulator(t *testing.T) {
	out, records := filepath.Join(t.TempDir(), "r.json"), filepath.Join(t.TempDir(), "r.jsonl")
	code, stdout, stderr := finished(t, "sweep", "--model", "sim-fixed", "--rates", "20,50", "--duration", "1s", "--warmup", "200ms",
		"--out", out, "--records", records)
	if code != exitOK && code != exitLimited {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var r report.Result
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	if r.Schema != 1 || r.Model != "sim-fixed" || len(r.Points) != 2 || r.Interrupted {
		t.Fatalf("schema %d, model %s, %d points, interrupted %v", r.Schema, r.Model, len(r.Points), r.Interrupted)
	}
	var requests int64
	for i, p := range r.Points {
		if want := []float64{20, 50}[i]; p.OfferedRPS != want {
			t.Errorf("point %d offers %v, want %v", i, p.OfferedRPS, want)
		}
		if err := p.Accounting.Check(); err != nil || p.Accounting.OK == 0 || p.Accounting.OK != p.Accounting.Scheduled {
			t.Errorf("point %d: %+v, %v", i, p.Accounting, err)
		}
		if got := p.Metrics["ttft"].Simulated; got == nil || got.P50 != 7.12 || got.Count != p.Accounting.OK {
			t.Errorf("point %d: simulated ttft %+v, want 7.12 ms for each of %d", i, got, p.Accounting.OK)
		}
		if got := p.Metrics["tpot"].Simulated; got == nil || got.P50 != 4 {
			t.Errorf("point %d: simulated tpot %+v, want 4 ms", i, got)
		}
		for _, name := range []string{"ttft", "tpot", "e2e"} {
			c := p.Metrics[name]
			if c.Client == nil || c.Server == nil {
				t.Errorf("point %d: %s has no client or no server column", i, name)
			}
		}
		if p.Lateness == nil || p.Health.Verdict == "" {
			t.Errorf("point %d has no lag or no verdict", i)
		}
		if p.PromptTokenMismatches != 0 {
			t.Errorf("point %d: %d prompts were not of 512 tokens", i, p.PromptTokenMismatches)
		}
		if len(p.Notes) > 0 {
			t.Errorf("point %d: %q", i, p.Notes)
		}
		requests += p.Accounting.OK
	}
	for _, want := range []string{"7.12", "20/s", "50/s", "scheduled = ok + failed"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the table lacks %q:\n%s", want, stdout)
		}
	}
	lines, err := os.ReadFile(records)
	if err != nil {
		t.Fatal(err)
	}
	if n := int64(bytes.Count(lines, []byte("\n"))); n < requests {
		t.Errorf("%d records for at least %d requests", n, requests)
	}
}

func TestRunInAClosedLoop(t *testing.T) {
	sim := simtest.Start(t, simtest.WithModels(fastModels))
	out := filepath.Join(t.TempDir(), "r.json")
	code, _, stderr := finished(t, "run", "--url", sim.URL, "--model", "fast", "--concurrency", "4",
		"--duration", "300ms", "--warmup", "0s", "--output-tokens", "4", "--out", out, "--quiet")
	if code != exitOK && code != exitLimited {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	var r report.Result
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Points) != 1 || r.Points[0].Concurrency != 4 || r.Points[0].Accounting.OK < 4 {
		t.Errorf("%+v", r.Points)
	}
}

func TestExitCodes(t *testing.T) {
	sim := simtest.Start(t, simtest.WithModels(fastModels))
	failing := httptest.NewServer(http.HandlerFunc(failAfterProbes))
	t.Cleanup(failing.Close)
	for name, c := range map[string]struct {
		sim  *simtest.Simulator
		more []string
		want int
	}{
		"an objective is missed": {sim, []string{"--slo", "ttft_p50=1us"}, exitSLO},
		"all requests fail":      {&simtest.Simulator{URL: failing.URL + "/v1"}, nil, exitFailures},
		"too many fail":          {&simtest.Simulator{URL: failing.URL + "/v1"}, []string{"--max-failures", "3"}, exitFailures},
		"so many may fail":       {&simtest.Simulator{URL: failing.URL + "/v1"}, []string{"--max-failures", "1000"}, exitOK},
	} {
		t.Run(name, func(t *testing.T) {
			code, result, _, stderr := sweepOf(t, c.sim, c.more...)
			for _, p := range result.Points {
				if p.Health.Verdict == "limited" {
					c.want = exitLimited // a busy machine, which comes first
				}
			}
			if code != c.want {
				t.Errorf("exit code %d, want %d: %s", code, c.want, stderr)
			}
		})
	}
}

// failAfterProbes is a server that answers what comes before the load, one
// token at a time, and fails with 500 under it.
func failAfterProbes(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/models") {
		fmt.Fprint(w, `{"object":"list","data":[{"id":"fast","owned_by":"somebody"}]}`)
		return
	}
	var body struct {
		MaxTokens int `json:"max_tokens"`
		Messages  []struct{ Content string }
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || body.MaxTokens > 1 {
		http.Error(w, `{"error":{"message":"out of order"}}`, http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, `data: {"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"length"}]}`+"\n\n"+
		`data: {"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":1}}`+"\n\ndata: [DONE]\n\n",
		len(strings.Fields(body.Messages[0].Content)))
}

// What the server columns need does not exist on another server: they are
// absent, and nothing of the simulator's own is sent to it.
func TestAnotherServerGetsPlainRequests(t *testing.T) {
	asked := make(chan *http.Request, 1000)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		r.Body = io.NopCloser(bytes.NewReader(bytes.Replace(body, []byte(`"max_tokens":8`), []byte(`"max_tokens":1`), 1)))
		r.Header.Set("body", string(body))
		select {
		case asked <- r.Clone(context.Background()):
		default:
		}
		failAfterProbes(w, r)
	}))
	t.Cleanup(other.Close)
	_, result, stdout, _ := sweepOf(t, &simtest.Simulator{URL: other.URL + "/v1"})
	for _, p := range result.Points {
		for name, c := range p.Metrics {
			if c.Server != nil || c.Simulated != nil {
				t.Errorf("%s has a server or simulated column", name)
			}
		}
		if p.Lateness != nil {
			t.Error("there is a lag of a server that has none")
		}
	}
	if strings.Contains(stdout, "simulated") {
		t.Errorf("the table speaks of simulated values:\n%s", stdout)
	}
	close(asked)
	for r := range asked {
		for header := range r.Header {
			if strings.HasPrefix(strings.ToLower(header), "x-llmsim") {
				t.Errorf("%s was sent", header)
			}
		}
		if strings.Contains(r.Header.Get("body"), "ignore_eos") {
			t.Error("ignore_eos was sent to a server that nobody said takes it")
		}
	}
}

func TestASweepThatCannotBe(t *testing.T) {
	sim := simtest.Start(t, simtest.WithModels(fastModels))
	notOpenAI := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(notOpenAI.Close)
	html := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }))
	t.Cleanup(html.Close)
	locked := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"error":{"message":"Incorrect API key provided"}}`, http.StatusUnauthorized)
	}))
	t.Cleanup(locked.Close)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead := "http://" + ln.Addr().String() + "/v1"
	ln.Close()
	missing := filepath.Join(t.TempDir(), "missing")

	for _, c := range []struct {
		name, says string
		args       []string
	}{
		{"dead", "nothing usable answers at " + dead, []string{"--url", dead}},
		{"wrong key", "refuses the API key (status 401): Incorrect API key provided", []string{"--url", locked.URL + "/v1", "--api-key", "wrong"}},
		{"no OpenAI server", "is not the base URL of an OpenAI-compatible server", []string{"--url", notOpenAI.URL}},
		{"a web site", "is no list of models", []string{"--url", html.URL}},
		{"without /v1", "most base URLs end in /v1", []string{"--url", strings.TrimSuffix(sim.URL, "/v1")}},
		{"no URL", "bad URL \"localhost:8080\"", []string{"--url", "localhost:8080"}},
		{"unknown model", `has no model "gpt"; it has: fast, slow`, []string{"--url", sim.URL, "--model", "gpt"}},
		{"which model", "name one of them: fast, slow", []string{"--url", sim.URL}},
		{"bad rate", `"x" is no number`, []string{"--rates", "10,x"}},
		{"negative rate", "rate of -1 requests per second is not possible", []string{"--url", sim.URL, "--rates", "-1"}},
		{"no duration", "duration 0s is not possible", []string{"--url", sim.URL, "--duration", "0s"}},
		{"no output", "0 tokens are not possible", []string{"--url", sim.URL, "--output-tokens", "0"}},
		{"bad objective", "--slo", []string{"--slo", "ttft=1ms"}},
		{"argument", "takes no arguments", []string{"now"}},
		{"context", "takes 4096 together", []string{"--url", sim.URL, "--model", "fast", "--prompt-tokens", "4090", "--output-tokens", "7"}},
		{"empty URL", "--url is empty", []string{"--url", ""}},
		{"years", "duration 87600h0m0s is not possible", []string{"--url", sim.URL, "--duration", "87600h"}},
		{"failures", "--max-failures -5 is negative", []string{"--url", sim.URL, "--max-failures", "-5"}},
		{"no folder", "no such file", []string{"--url", dead, "--out", filepath.Join(missing, "r.json")}},
		{"a folder as result", "is no file that can be replaced", []string{"--url", dead, "--out", filepath.Dir(missing)}},
		{"a folder as records", "is no file that can be replaced", []string{"--url", dead, "--records", filepath.Dir(missing)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, stdout, stderr := finished(t, append([]string{"sweep"}, c.args...)...)
			if code != exitError || !strings.Contains(stderr, c.says) {
				t.Errorf("exit code %d, want %d; said %q, want …%s…", code, exitError, stderr, c.says)
			}
			if n := strings.Count(strings.TrimSpace(stderr), "\n"); n > 0 {
				t.Errorf("said more than one line: %s", stderr)
			}
			if stdout != "" {
				t.Errorf("printed %q", stdout)
			}
		})
	}
	if left, err := os.ReadDir(filepath.Dir(missing)); err != nil || len(left) > 0 {
		t.Errorf("the checks left %v behind, %v", left, err)
	}
}

// The flags of requests reach them: the server checks the key and answers
// nothing, so that requests wait for their place and time out.
func TestRequestFlags(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if r.Header.Get("Authorization") != "Bearer secret" {
			http.Error(w, "", http.StatusUnauthorized)
			return
		}
		if err != nil || bytes.Contains(body, []byte(`"max_tokens":8`)) {
			<-r.Context().Done() // until the client gives up
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		failAfterProbes(w, r)
	}))
	t.Cleanup(server.Close)
	records := filepath.Join(t.TempDir(), "r.jsonl")
	code, result, _, stderr := sweepOf(t, &simtest.Simulator{URL: server.URL + "/v1"}, "--rates", "100", "--duration", "100ms", "--warmup", "0s",
		"--api-key", "secret", "--max-in-flight", "2", "--timeout", "50ms", "--seed", "7", "--records", records)
	if code != exitFailures && code != exitLimited || len(result.Points) != 1 || result.Seed != 7 {
		t.Fatalf("exit code %d, %d points, seed %d: %s", code, len(result.Points), result.Seed, stderr)
	}
	// The run waits for the last requests no longer than for any.
	if a := result.Points[0].Accounting; a.OK > 0 || a.FailedByKind["timeout"] < 2 || a.FailedByKind["timeout"] != a.Failed {
		t.Errorf("%+v, want timeouts and no other failure", a)
	}
	file, err := os.Open(records)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var slots, ends []record.Instant
	for reader := record.NewReader(file); ; {
		r, err := reader.Next()
		if err != nil {
			break
		}
		if r.Slot != record.Unset {
			slots, ends = append(slots, r.Slot), append(ends, r.End)
		}
	}
	slices.Sort(slots)
	slices.Sort(ends)
	for i := 2; i < len(slots); i++ {
		if slots[i] < ends[i-2] {
			t.Errorf("more than two requests ran at %d", slots[i])
		}
	}
}

// What was measured until the disk was full is shown and written.
func TestAFullDiskEndsTheRun(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("this platform has no full disk")
	}
	sim := simtest.Start(t, simtest.WithModels(fastModels))
	dir := t.TempDir()
	out, records := filepath.Join(dir, "r.json"), filepath.Join(dir, "r.jsonl")
	if err := os.Symlink("/dev/full", records+".partial"); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := finished(t, "sweep", "--url", sim.URL, "--model", "fast", "--rates", "200,10", "--duration", "1h", "--warmup", "0s",
		"--output-tokens", "2", "--out", out, "--records", records)
	if code != exitError || !strings.Contains(stderr, "no space left") || !strings.Contains(stdout, "no space left") {
		t.Errorf("exit code %d, said %q and printed\n%s", code, stderr, stdout)
	}
	var r report.Result
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	if !r.Interrupted || len(r.Points) != 1 || r.Points[0].Accounting.OK == 0 || !strings.Contains(strings.Join(r.Notes, "\n"), "no space left") {
		t.Errorf("interrupted %v, %d points, notes %q", r.Interrupted, len(r.Points), r.Notes)
	}
	if _, err := os.Stat(records); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("records that are not complete have their final name: %v", err)
	}
}

func TestNothingMeasuredIsNoSuccess(t *testing.T) {
	sim := simtest.Start(t, simtest.WithModels(fastModels))
	code, stdout, stderr := finished(t, "run", "--url", sim.URL, "--model", "fast", "--rate", "0.001", "--duration", "10ms", "--warmup", "0s")
	if code != exitError || !strings.Contains(stderr, "nothing was measured") || !strings.Contains(stdout, "no request came due") {
		t.Errorf("exit code %d, said %q and printed\n%s", code, stderr, stdout)
	}
}

func TestInterruptedSweepWritesWhatItHas(t *testing.T) {
	sim := simtest.Start(t, simtest.WithModels(fastModels))
	dir := t.TempDir()
	out, records := filepath.Join(dir, "r.json"), filepath.Join(dir, "r.jsonl")
	cmd := program(t, "sweep", "--url", sim.URL, "--model", "fast", "--rates", "200,10", "--duration", "1h", "--warmup", "0s",
		"--output-tokens", "2", "--out", out, "--records", records)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// Records reach the file about a second after they end.
	waitUntil(t, func() bool {
		info, err := os.Stat(records + ".partial")
		return err == nil && info.Size() > 0
	})
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	err := cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitError {
		t.Errorf("exit code %d (%v), want %d: %s", code, err, exitError, &stderr)
	}
	var r report.Result
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatalf("%v: %s", err, &stderr)
	}
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	if !r.Interrupted || len(r.Points) != 1 || r.Points[0].Accounting.OK == 0 {
		t.Errorf("interrupted %v, points %+v", r.Interrupted, r.Points)
	}
	if err := r.Points[0].Accounting.Check(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(records); err != nil {
		t.Errorf("the records have no final name: %v", err)
	}
}
