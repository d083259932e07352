package bench_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"llmsim-bench/bench"
	"llmsim-bench/bench/record"
)

func TestMaxInFlightMakesRequestsWait(t *testing.T) {
	var running, most atomic.Int64
	server := scripted{answer: func(w http.ResponseWriter, _ *http.Request, c *chat) {
		n := running.Add(1)
		defer running.Add(-1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		if !c.probe() {
			time.Sleep(20 * time.Millisecond) // two at once: half of what is offered
		}
		answerWell(w, c)
	}}
	c := short(server.start(t))
	c.MaxInFlight = 2
	result, records := measured(t, c)
	allOK(t, result)
	if most.Load() > 2 {
		t.Errorf("%d requests ran at once, want at most 2", most.Load())
	}
	waited := 0
	for _, r := range records {
		if r.Slot == record.Unset || r.Slot < r.Dispatch || r.Conn < r.Slot {
			t.Errorf("request %d: dispatched at %d, slot at %d, connection at %d", r.ID, r.Dispatch, r.Slot, r.Conn)
		}
		if r.Slot-r.Sched > record.Instant(10*time.Millisecond) {
			waited++
		}
	}
	if waited == 0 {
		t.Error("no request waited for its slot")
	}
}

func TestTimeoutEndsARequest(t *testing.T) {
	server := scripted{answer: func(w http.ResponseWriter, r *http.Request, c *chat) {
		if c.probe() {
			answerWell(w, c)
			return
		}
		<-r.Context().Done() // until the client gives up
	}}
	c := short(server.start(t))
	c.Timeouts.Total = 100 * time.Millisecond
	result, records := measured(t, c)
	a := result.Points[0].Accounting
	if a.Failed == 0 || a.Failed != a.Scheduled || a.FailedByKind[record.KindTimeout] != a.Failed {
		t.Errorf("%+v, want all failed by timeout", a)
	}
	for _, r := range records {
		if took := time.Duration(r.End - r.Slot); took < c.Timeouts.Total {
			t.Errorf("request %d was given up after %v, want %v", r.ID, took, c.Timeouts.Total)
		}
	}
}

func TestTheKeyGoesWithEveryChat(t *testing.T) {
	var server scripted
	c := short(server.start(t))
	c.APIKey = "secret"
	result, _ := measured(t, c)
	allOK(t, result)
	load, probes := server.load()
	for _, c := range append(load, probes...) {
		if c.key != "Bearer secret" {
			t.Errorf("a chat came with Authorization %q", c.key)
		}
	}
	text, err := json.Marshal(result)
	if err != nil || strings.Contains(string(text), "secret") {
		t.Errorf("the result holds the key: %s, %v", text, err)
	}
}

func TestIgnoreEOSGoesToServersThatTakeIt(t *testing.T) {
	for _, test := range []struct {
		owner string
		asked bool
		want  any
	}{
		{"vllm", false, true},
		{"sglang", false, true},
		{"somebody", false, nil},
		{"somebody", true, true},
	} {
		server := scripted{model: fmt.Sprintf(`{"id":"m","owned_by":%q}`, test.owner)}
		c := short(server.start(t))
		c.IgnoreEOS = test.asked
		result, _ := measured(t, c)
		allOK(t, result)
		load, _ := server.load()
		for _, c := range load {
			if got := c.fields["ignore_eos"]; got != test.want {
				t.Errorf("%s, asked %v: ignore_eos %v, want %v", test.owner, test.asked, got, test.want)
			}
		}
	}
}

func TestAServerWithoutStreamOptions(t *testing.T) {
	server := scripted{answer: func(w http.ResponseWriter, _ *http.Request, c *chat) {
		if c.fields["stream_options"] != nil {
			http.Error(w, `{"error":{"message":"extra field"}}`, http.StatusUnprocessableEntity)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, strings.Repeat(`data: {"choices":[{"index":0,"delta":{"content":"x"}}]}`+"\n\n", c.maxTokens)+"data: [DONE]\n\n")
	}}
	result, records := measured(t, short(server.start(t)))
	allOK(t, result)
	if notes := strings.Join(result.Notes, "\n"); !strings.Contains(notes, "refuses stream_options (extra field)") ||
		!strings.Contains(notes, "may not have exactly as many tokens") {
		t.Errorf("notes: %s", notes)
	}
	for _, r := range records {
		if r.OutputTokens != 3 || r.OutputTokensFrom != record.FromEvents {
			t.Errorf("%d tokens from %s, want 3 from events", r.OutputTokens, r.OutputTokensFrom)
		}
	}
}

// Within a run no prompt comes twice, and each record says where it belongs.
func TestPromptsAndRecordsAcrossPoints(t *testing.T) {
	var server scripted
	c := short(server.start(t))
	c.Loads = []bench.Load{bench.AtRate(100), {Concurrency: 2}, bench.AtRate(100)}
	result, records := measured(t, c)
	allOK(t, result)
	load, _ := server.load()
	prompts, ids, points := make(map[string]bool), make(map[int64]bool), make(map[int]int64)
	for _, c := range load {
		if prompts[c.prompt] {
			t.Errorf("the prompt %q came twice", c.prompt)
		}
		prompts[c.prompt] = true
		if c.words() != 16 {
			t.Errorf("a prompt has %d tokens, want 16: %q", c.words(), c.prompt)
		}
	}
	for _, r := range records {
		if ids[r.ID] {
			t.Errorf("there are two records of request %d", r.ID)
		}
		ids[r.ID] = true
		points[r.Point]++
		if r.PromptTokensAsked != 16 || r.PromptTokens != 16 {
			t.Errorf("request %d: %d prompt tokens asked, %d counted, want 16", r.ID, r.PromptTokensAsked, r.PromptTokens)
		}
	}
	want := make(map[int]int64)
	for i, p := range result.Points {
		want[i+1] = p.Accounting.Scheduled
	}
	if !maps.Equal(points, want) {
		t.Errorf("records by point %v, want %v", points, want)
	}
}

func TestTheSeedDecidesArrivalsAndPrompts(t *testing.T) {
	var server scripted
	url := server.start(t)
	draw := func(seed uint64) (gaps []record.Instant, prompts []string) {
		c := short(url)
		c.Seed = seed
		before, _ := server.load()
		_, records := measured(t, c)
		slices.SortFunc(records, func(a, b *record.Request) int { return int(a.ID - b.ID) })
		for _, r := range records {
			gaps = append(gaps, r.Sched-records[0].Sched)
		}
		load, _ := server.load()
		for _, c := range load[len(before):] {
			prompts = append(prompts, c.prompt)
		}
		slices.Sort(prompts) // they may overtake each other
		return gaps, prompts
	}
	gaps, prompts := draw(7)
	sameGaps, samePrompts := draw(7)
	otherGaps, otherPrompts := draw(8)
	if len(gaps) < 10 || !slices.Equal(gaps, sameGaps) || !slices.Equal(prompts, samePrompts) {
		t.Error("one seed gives two different runs")
	}
	if slices.Equal(gaps, otherGaps) {
		t.Error("two seeds give the same arrivals")
	}
	for _, p := range otherPrompts {
		if slices.Contains(prompts, p) {
			t.Errorf("two seeds give the prompt %q", p)
		}
	}
}

func TestAnInterruptedWindowEndsWithTheRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var asked atomic.Int64
	server := scripted{answer: func(w http.ResponseWriter, _ *http.Request, c *chat) {
		if !c.probe() && asked.Add(1) == 20 {
			cancel()
		}
		answerWell(w, c)
	}}
	c := short(server.start(t))
	c.Duration = time.Hour
	began := time.Now()
	result, err := bench.Run(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Points) != 1 || !result.Interrupted {
		t.Fatalf("%d points, interrupted %v", len(result.Points), result.Interrupted)
	}
	p := result.Points[0]
	if took := time.Since(began).Seconds(); p.DurationS <= 0 || p.DurationS > took {
		t.Errorf("the window lasted %v s of a run of %v s", p.DurationS, took)
	}
	if p.AchievedRPS*p.DurationS < 10 {
		t.Errorf("%v requests a second in %v s, want about twenty requests", p.AchievedRPS, p.DurationS)
	}
}

func TestInterruptedInTheWarmup(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	server := scripted{answer: func(w http.ResponseWriter, _ *http.Request, c *chat) {
		if !c.probe() {
			cancel()
		}
		answerWell(w, c)
	}}
	c := short(server.start(t))
	c.Warmup = time.Hour
	result, err := bench.Run(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(result)
	if err != nil || !result.Interrupted || !strings.Contains(string(text), `"points":[]`) {
		t.Errorf("%s, %v", text, err)
	}
}

// A run that comes to nothing must not cost the records of an earlier one.
func TestARunThatCannotStartLeavesOldRecordsAlone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stuck := scripted{answer: func(_ http.ResponseWriter, r *http.Request, _ *chat) {
		cancel() // Ctrl-C while the probe waits
		<-r.Context().Done()
	}}
	var plain scripted
	dead := httptest.NewServer(nil)
	dead.Close()
	for name, change := range map[string]func(*bench.Config){
		"no server": func(c *bench.Config) { c.URL = dead.URL + "/v1" },
		"no model":  func(c *bench.Config) { c.Model = "other" },
		"Ctrl-C":    func(c *bench.Config) { c.URL = stuck.start(t) },
	} {
		t.Run(name, func(t *testing.T) {
			c := short(plain.start(t))
			change(&c)
			c.RecordsPath = filepath.Join(t.TempDir(), "r.jsonl")
			if err := os.WriteFile(c.RecordsPath, []byte("old"), 0o600); err != nil {
				t.Fatal(err)
			}
			runCtx := t.Context()
			if name == "Ctrl-C" {
				runCtx = ctx
			}
			result, err := bench.Run(runCtx, c)
			if err == nil || result != nil || (name == "Ctrl-C") != errors.Is(err, context.Canceled) {
				t.Errorf("result %v, error %v", result, err)
			}
			text, err := os.ReadFile(c.RecordsPath)
			if err != nil || string(text) != "old" {
				t.Errorf("the records now hold %q, %v", text, err)
			}
			if _, err := os.Stat(c.RecordsPath + ".partial"); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("a partial file is left: %v", err)
			}
		})
	}
}

// The first token of an answer may have no text; the probes ask for one only.
func TestProbesNeedNoText(t *testing.T) {
	server := scripted{answer: func(w http.ResponseWriter, _ *http.Request, c *chat) {
		if c.probe() {
			w.Header().Set("Content-Type", "text/event-stream")
			answerUsage(w, c)
			return
		}
		answerWell(w, c)
	}}
	result, _ := measured(t, short(server.start(t)))
	allOK(t, result)
	if len(result.Notes) > 0 {
		t.Errorf("notes: %q", result.Notes)
	}
}

func TestProbesFitTheContext(t *testing.T) {
	const contextLength = 70
	server := scripted{answer: func(w http.ResponseWriter, _ *http.Request, c *chat) {
		if n := c.words() + c.maxTokens; n > contextLength {
			http.Error(w, fmt.Sprintf(`{"error":{"message":"%d tokens are too many"}}`, n), http.StatusBadRequest)
			return
		}
		answerWell(w, c)
	}}
	result, _ := measured(t, short(server.start(t)))
	allOK(t, result)
	if len(result.Notes) > 0 {
		t.Errorf("notes: %q", result.Notes)
	}
}

func TestTheContextLengthIsKept(t *testing.T) {
	for model, refused := range map[string]bool{
		`{"id":"m","max_model_len":18}`:   true,
		`{"id":"m","max_model_len":19}`:   false,
		`{"id":"m","max_model_len":null}`: false,
		`{"id":"m","max_model_len":"18"}`: false,
	} {
		server := scripted{model: model}
		_, err := bench.Run(t.Context(), short(server.start(t)))
		if !refused {
			if err != nil {
				t.Errorf("%s: %v", model, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), `16 prompt tokens and 3 output tokens are 19; model "m" of the server at`) ||
			!strings.Contains(err.Error(), "takes 18 together") {
			t.Errorf("%s: error %v", model, err)
		}
		if load, probes := server.load(); len(load)+len(probes) > 0 {
			t.Errorf("%s: chats were sent", model)
		}
	}
}
