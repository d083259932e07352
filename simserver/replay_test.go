package simserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"llmsim-bench/internal/sleep"
	"llmsim-bench/internal/wire"
	"llmsim-bench/simserver/config"
	"llmsim-bench/simserver/engine"
	"llmsim-bench/simserver/llm"
	"llmsim-bench/simserver/plan"
	"llmsim-bench/simserver/recorder"
	"llmsim-bench/simserver/recording"
)

// everyEngine has a model of each kind, one of them with replicas.
const everyEngine = `
models:
  - {name: instant, context_length: 4096, tokenizer: o200k, engine: instant}
  - name: fixed
    context_length: 4096
    tokenizer: regex
    engine: fixed_rate
    replicas: 2
    latency: {overhead_ms: 5000, prefill_tokens_per_second: 10, itl_ms: 1000}
  - name: batched
    context_length: 32768
    tokenizer: cl100k
    engine: scheduler
    hardware: h100-sxm@1
    profile: llama-3.1-8b@1
    scheduler: {}
`

// streamEvents is a stream of reasoning, content and two calls, in its pieces.
var streamEvents = func() (all []string) {
	for _, delta := range []string{
		`{"role":"assistant","content":""}`,
		`{"reasoning_content":"Let me look"}`, `{"reasoning_content":" that up."}`,
		`{"content":"It is 日"}`, `{"content":"本's "}`, `{"content":"weather that you want."}`,
		`{"tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"weather","arguments":""}}]}`,
		`{"tool_calls":[{"index":0,"function":{"arguments":"{\"city\": \"Ky"}}]}`,
		`{"tool_calls":[{"index":0,"function":{"arguments":"oto\"}"}}]}`,
		`{"tool_calls":[{"index":1,"id":"call_b","type":"function","function":{"name":"log","arguments":"{}"}}]}`,
	} {
		all = append(all, `data: {"choices":[{"index":0,"delta":`+delta+`,"finish_reason":null}]}`+"\n\n")
	}
	return append(all, `data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`+"\n\ndata: [DONE]\n\n")
}()

// recordOne asks a server once, through a recorder, and returns the file.
func recordOne(t *testing.T, upstream, question string) (path string) {
	t.Helper()
	dir := t.TempDir()
	r, err := recorder.Listen("127.0.0.1:0", recorder.Options{Upstream: upstream, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- r.Serve() }()
	resp, err := http.Post(r.URL()+"/chat/completions", "application/json", strings.NewReader(question))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Error(err)
	}
	resp.Body.Close()
	if err := errors.Join(r.Shutdown(t.Context())); err != nil {
		t.Error(err)
	}
	<-served
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	return files[0]
}

func answerIn(t *testing.T, path string) *recording.Answer {
	t.Helper()
	e, err := recording.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	a, err := e.Answer()
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// spoken is an answer without its times.
func spoken(a *recording.Answer) string {
	var b strings.Builder
	if a.Error != nil {
		fmt.Fprintf(&b, "%+v", *a.Error)
	}
	for _, c := range a.Choices {
		fmt.Fprintf(&b, "[%s] %s", c.Reasoning.Text, c.Content.Text)
		for _, call := range c.ToolCalls {
			fmt.Fprintf(&b, " %s=%s(%s)", call.ID, call.Name, call.Arguments.Text)
		}
		fmt.Fprintf(&b, " %s\n", c.FinishReason)
	}
	return b.String()
}

// replayServer serves everyEngine with an entry for each of the files.
func replayServer(t *testing.T, options string, files map[string]string) *Server {
	t.Helper()
	text := "version: 1\nresponses:\n"
	for name, file := range files {
		text += fmt.Sprintf("  - {id: %s, match: {exact: %s}, replay: {file: %q%s}}\n", name, name, file, options)
	}
	responses, err := config.ParseResponses("r.yml", []byte(text+"default: {content: nothing}\n"))
	if err != nil {
		t.Fatal(err)
	}
	models, err := config.Parse("models.yml", []byte(everyEngine))
	if err != nil {
		t.Fatal(err)
	}
	s, err := Listen("127.0.0.1:0", models, Options{Responses: responses})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve() }()
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = s.Shutdown(ctx)
		<-served
	})
	return s
}

// What was recorded from a server is recorded again from its replay: streamed or
// not, with and without its times, by every engine.
func TestRecordedAnswersAreReplayed(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		switch {
		case strings.Contains(string(body), "busy"):
			w.Header().Set("Retry-After", "3")
			w.WriteHeader(http.StatusTooManyRequests)
			fmt.Fprint(w, `{"error":{"message":"slow {down}","type":"tokens","code":"rate_limit_exceeded"}}`)
		case strings.Contains(string(body), "whole"):
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"choices":[{"index":0,"message":{"role":"assistant","content":"All {at} once.\n"},"finish_reason":"content_filter"}]}`)
		default:
			w.Header().Set("Content-Type", "text/event-stream")
			for _, e := range streamEvents {
				_, _ = io.WriteString(w, e)
				_ = http.NewResponseController(w).Flush()
			}
		}
	}))
	defer upstream.Close()
	question := func(model, text string, stream bool) string {
		return fmt.Sprintf(`{"model":%q,"stream":%v,"messages":[{"role":"user","content":%q}]}`, model, stream, text)
	}
	files, want := map[string]string{}, map[string]string{}
	for _, text := range []string{"stream", "whole", "busy"} {
		files[text] = recordOne(t, upstream.URL, question("real", text, true))
		want[text] = spoken(answerIn(t, files[text]))
	}
	if !strings.Contains(want["stream"], `[Let me look that up.] It is 日本's weather that you want. call_a=weather({"city": "Kyoto"}) call_b=log({}) tool_calls`) {
		t.Fatalf("recorded %q", want["stream"])
	}
	for _, options := range []string{"", ", timing: true"} {
		s := replayServer(t, options, files)
		for _, model := range []string{"instant", "fixed", "batched"} {
			if model == "fixed" && options == "" {
				continue // it takes its time
			}
			for text := range files {
				for _, stream := range []bool{true, false} {
					got := spoken(answerIn(t, recordOne(t, s.URL(), question(model, text, stream))))
					if got != want[text] {
						t.Errorf("%s%s, %s, stream %v:\n%s\nwant\n%s", text, options, model, stream, got, want[text])
					}
				}
			}
		}
		for _, e := range s.engines {
			if b, ok := e.(*engine.Batched); ok && (b.Steps().Count > 0) == (options != "") {
				t.Errorf("with %q the scheduler made %d steps", options, b.Steps().Count)
			}
		}
	}
}

// slowExchange writes streamEvents as if one had come every 10 ms.
func slowExchange(t *testing.T) string {
	t.Helper()
	e := recording.Exchange{
		Response: &recording.Response{Status: 200, Headers: map[string][]string{"Content-Type": {"text/event-stream"}}},
		End:      recording.End{Complete: true},
	}
	for i, text := range streamEvents {
		e.Response.Segments = append(e.Response.Segments, recording.Segment{AtNS: int64(i+1) * int64(10*time.Millisecond), Data: []byte(text)})
	}
	path := filepath.Join(t.TempDir(), "slow.json")
	if err := e.Write(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// collected is an engine's outlet that keeps when each token came.
type collected struct {
	clock engine.Clock
	due   []plan.TokenEvent
	at    []int64
	done  chan error
}

func (c *collected) Prepare(ev plan.TokenEvent) { c.due = append(c.due, ev) }

func (c *collected) Release() (int64, engine.Delivery) {
	at := c.clock.Now()
	for len(c.at) < len(c.due) {
		c.at = append(c.at, at)
	}
	return at, engine.Sent
}
func (c *collected) Flush() error   { return nil }
func (c *collected) Done(err error) { c.done <- err }

// In fake time, every token of a replay comes exactly when the piece came that
// brought its last byte.
func TestReplayedTokensComeWhenTheyCame(t *testing.T) {
	responses, err := config.ParseResponses("r.yml", fmt.Appendf(nil, "version: 1\ndefault: {replay: {file: %q, timing: true}}\n", slowExchange(t)))
	if err != nil {
		t.Fatal(err)
	}
	book := &llm.ResponseBook{}
	book.Set(llm.NewResponses(script(responses)))
	tokenizer, err := llm.NewTokenizer(llm.TokenizerCL100K)
	if err != nil {
		t.Fatal(err)
	}
	p, err := llm.NewGenerator(llm.Options{ContextLength: 4096, Tokenizer: tokenizer, Responses: book}).
		Generate(llm.Request{Messages: []llm.Message{{Role: "user", Text: "x"}}})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		clock := sleep.NewClock()
		table := engine.NewTimetable(clock, sleep.NewPortable(clock), 0)
		defer table.Close()
		e := table.Before(engine.Instant{})
		time.Sleep(time.Minute)
		out := &collected{clock: clock, done: make(chan error, 1)}
		r := &engine.Request{Plan: p, Arrival: clock.Now(), Outlet: out}
		if err := errors.Join(e.Check(p), e.Accept(r)); err != nil {
			t.Fatal(err)
		}
		e.Submit(r)
		if err := <-out.done; err != nil {
			t.Fatal(err)
		}
		said := map[int64]string{} // by the ms after the arrival
		for i, ev := range out.due {
			if out.at[i] != ev.Due {
				t.Errorf("token %d came %d ns late", i, out.at[i]-ev.Due)
			}
			said[(ev.Due-r.Arrival)/1e6] += p.Choices[0].Tokens[i].Text
			if (ev.Due-r.Arrival)%1e6 != 0 {
				t.Errorf("token %d is due %d ns after the arrival", i, ev.Due-r.Arrival)
			}
		}
		want := map[int64]string{
			20: "Let me look", 30: " that up.", 40: "It is 日", 50: "本's", 60: " weather that you want.",
			80: `{"city": "Ky`, 90: `oto"}`, 100: "{}",
		}
		if !reflect.DeepEqual(said, want) {
			t.Errorf("said %v\nwant %v", said, want)
		}
	})
}

// The served timeline is the recorded one, whatever the model's engine.
func TestReplayIsServedOnItsOwnTimeline(t *testing.T) {
	s := replayServer(t, ", timing: true", map[string]string{"x": slowExchange(t)})
	for _, model := range []string{"instant", "fixed", "batched"} {
		q, err := http.NewRequest(http.MethodPost, s.URL()+"/chat/completions", strings.NewReader(
			`{"model":"`+model+`","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"x"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set(wire.HeaderTiming, "1")
		resp, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		var timing *wire.Timing
		for line := range strings.Lines(string(body)) {
			var event struct {
				Timing *wire.Timing `json:"llmsim_timing"`
			}
			if json.Unmarshal([]byte(strings.TrimPrefix(line, "data: ")), &event) == nil && event.Timing != nil {
				timing = event.Timing
			}
		}
		if timing == nil || timing.Simulated != (wire.Instants{FirstNS: 20_000_000, LastNS: 100_000_000}) {
			t.Errorf("%s: timing %+v of\n%s", model, timing, body)
		}
	}
}

func TestReloadReadsRecordingsAgain(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "r.yml")
	if err := os.WriteFile(path, []byte("version: 1\ndefault: {replay: x.json}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := newResponses(nil, path)
	if _, err := r.reload(); err == nil || !strings.Contains(err.Error(), path+":2: default.replay: stat ") {
		t.Errorf("a missing recording: %v", err)
	}
	if err := os.Rename(slowExchange(t), filepath.Join(dir, "x.json")); err != nil {
		t.Fatal(err)
	}
	if _, err := r.reload(); err != nil {
		t.Error(err)
	}
}

func TestReplayOfSeveralChoices(t *testing.T) {
	say := func(text string) recording.Choice {
		return recording.Choice{Content: recording.Text{Text: text, Marks: []recording.Mark{{End: len(text), AtNS: 7}}}, FinishReason: "stop", EndNS: 9}
	}
	answer := &recording.Answer{Choices: []recording.Choice{say("one"), say("two")}}
	for _, timing := range []bool{false, true} {
		body := replayBody(&config.Replay{Answer: answer, Timing: timing})
		if len(body.Also) != 1 || body.Also[0].Content.Template[0].Text != "two" || (body.Also[0].Timing != nil) != timing || body.Also[0].FinishReason != "stop" {
			t.Errorf("timing %v: %+v", timing, body)
		}
	}
}

// The recording in docs/server.md is what docs/responses.md says it replays.
func TestReplayDocs(t *testing.T) {
	read := func(name string) string {
		page, err := os.ReadFile("../docs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(page)
	}
	_, file, _ := strings.Cut(read("server.md"), "```json\n")
	file, _, _ = strings.Cut(file, "```\n")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "weather.json"), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(read("responses.md"), "    - id: weather\n      match: {contains: weather}\n")
	example, _, _ = strings.Cut("  - id: weather\n    match: {contains: weather}\n"+strings.ReplaceAll("\n"+example, "\n    ", "\n  "), "\nReasoning")
	entry, request, _ := strings.Cut(example, "\n  > ")
	message, want, _ := strings.Cut(request, "\n")
	responses, err := config.ParseResponses(filepath.Join(dir, "r.yml"), []byte("version: 1\nresponses:\n"+entry+"\ndefault: {content: x}\n"))
	if err != nil {
		t.Fatal(err)
	}
	g := llm.NewGenerator(llm.Options{ContextLength: 4096, Responses: &newResponses(responses, "").book})
	if got, want := shown(g, message), strings.TrimSpace(strings.ReplaceAll(want, "\n  ", "\n")); got != want || !responses.Entries[0].Bodies[0].Replay.Timing {
		t.Errorf("%q gets\n%s\nthe page says\n%s", message, got, want)
	}
}
