package simserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"llmsim-bench/internal/wire"
	"llmsim-bench/simserver"
	"llmsim-bench/simserver/config"
	"llmsim-bench/simserver/simtest"
)

// fast is sim-fixed at a hundredth of its times, so that tests are quick, and
// slow is one whose first token is an hour away.
const testModels = `
models:
  - name: fast
    context_length: 4096
    tokenizer: regex
    engine: fixed_rate
    latency: {overhead_ms: 0.02, prefill_tokens_per_second: 10000000, itl_ms: 0.04}
  - name: endless
    context_length: 16000000
    tokenizer: regex
    engine: fixed_rate
    latency: {overhead_ms: 0, prefill_tokens_per_second: 10000000, itl_ms: 1}
  - name: slow
    context_length: 4096
    tokenizer: regex
    engine: fixed_rate
    latency: {overhead_ms: 3600000, prefill_tokens_per_second: 10000000, itl_ms: 1}
  - name: instant
    context_length: 16000000
    tokenizer: regex
    engine: instant
`

func startFast(t *testing.T) *simtest.Simulator {
	t.Helper()
	return simtest.Start(t, simtest.WithModels(testModels))
}

func chatBody(model string, maxTokens int, extra string) string {
	return fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":"one two three"}],"max_tokens":%d%s}`, model, maxTokens, extra)
}

func post(path, body string, headers ...string) string {
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: sim\r\nContent-Length: %d\r\n", path, len(body))
	for _, h := range headers {
		head += h + "\r\n"
	}
	return head + "\r\n" + body
}

func postChat(body string, headers ...string) string {
	return post("/v1/chat/completions", body, headers...)
}

func dial(t *testing.T, sim *simtest.Simulator) (*net.TCPConn, *bufio.Reader) {
	t.Helper()
	c, err := net.Dial("tcp", sim.Address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c.(*net.TCPConn), bufio.NewReader(c)
}

func send(t *testing.T, w io.Writer, text string) {
	t.Helper()
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
}

// answer reads one response whole.
func answer(t *testing.T, r *bufio.Reader) (*http.Response, string) {
	t.Helper()
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("after %q: %v", body, err)
	}
	return resp, string(body)
}

func summary(t *testing.T, sim *simtest.Simulator, phase string) wire.Summary {
	t.Helper()
	resp, err := http.Get("http://" + sim.Address + "/metrics/summary?phase=" + phase)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var s wire.Summary
	if err := json.NewDecoder(resp.Body).Decode(&s); err != nil {
		t.Fatal(err)
	}
	return s
}

// waitFor asks until a condition holds that the server will make true.
func waitFor(t *testing.T, what string, condition func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(30 * time.Second); !condition(); {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("never happened: %s", what)
		}
	}
}

func TestTheGoSDKStreamsTwiceOnOneConnection(t *testing.T) {
	sim := startFast(t)
	var dials int
	client := openai.NewClient(
		option.WithBaseURL(sim.URL), option.WithAPIKey("unused"), option.WithMaxRetries(0),
		option.WithHTTPClient(&http.Client{Transport: &http.Transport{
			DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				dials++
				return (&net.Dialer{}).DialContext(ctx, network, address)
			},
		}}),
	)
	for range 2 {
		stream := client.Chat.Completions.NewStreaming(t.Context(), openai.ChatCompletionNewParams{
			Model:         "fast",
			Messages:      []openai.ChatCompletionMessageParamUnion{openai.UserMessage("one two three")},
			MaxTokens:     openai.Int(20),
			StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)},
		})
		var all openai.ChatCompletionAccumulator
		tokens := 0
		for stream.Next() {
			chunk := stream.Current()
			if !all.AddChunk(chunk) {
				t.Fatalf("chunk does not fit the ones before: %s", chunk.RawJSON())
			}
			if len(chunk.Choices) > 0 && chunk.Choices[0].Delta.Content != "" {
				tokens++
			}
		}
		if err := stream.Err(); err != nil {
			t.Fatal(err)
		}
		if tokens != 20 || all.Usage.CompletionTokens != 20 || all.Usage.PromptTokens != 3 {
			t.Errorf("%d token events, usage %d of %d prompt tokens; want 20, 20 of 3",
				tokens, all.Usage.CompletionTokens, all.Usage.PromptTokens)
		}
		if got := all.Choices[0].FinishReason; got != "length" {
			t.Errorf("finish reason %q, want length", got)
		}
		if role := all.Choices[0].Message.Role; role != "assistant" {
			t.Errorf("role %q", role)
		}
	}
	if dials != 1 {
		t.Errorf("%d connections were opened, want 1", dials)
	}
}

func TestTheGoSDKWithoutStreaming(t *testing.T) {
	sim := startFast(t)
	client := openai.NewClient(option.WithBaseURL(sim.URL), option.WithAPIKey("unused"), option.WithMaxRetries(0))
	got, err := client.Chat.Completions.New(t.Context(), openai.ChatCompletionNewParams{
		Model:     "fast",
		Messages:  []openai.ChatCompletionMessageParamUnion{openai.UserMessage("one two three")},
		MaxTokens: openai.Int(7),
	})
	if err != nil {
		t.Fatal(err)
	}
	if got.Usage.CompletionTokens != 7 || got.Choices[0].Message.Content == "" || got.Choices[0].FinishReason != "length" {
		t.Errorf("%s", got.RawJSON())
	}
	models, err := client.Models.List(t.Context())
	if err != nil || len(models.Data) != 4 || models.Data[0].ID != "fast" {
		t.Errorf("models: %+v, %v", models, err)
	}
	if one, err := client.Models.Get(t.Context(), "slow"); err != nil || one.ID != "slow" {
		t.Errorf("model: %+v, %v", one, err)
	}
}

// Requests pipelined behind a stream, a whole answer and a plain route are all
// answered, in order.
func TestPipelinedRequestsAreAllAnswered(t *testing.T) {
	sim := startFast(t)
	c, r := dial(t, sim)
	stream := postChat(chatBody("fast", 50, `,"stream":true`))
	send(t, c, stream+stream+postChat(chatBody("fast", 5, ""))+"GET /health HTTP/1.1\r\nHost: sim\r\n\r\n"+stream)
	for i := range 5 {
		resp, body := answer(t, r)
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("answer %d: %s %s", i, resp.Status, body)
		}
		switch i {
		case 2:
			if !strings.Contains(body, `"completion_tokens":5`) {
				t.Errorf("answer %d: %s", i, body)
			}
		case 3:
			if body != `{"status":"ok"}` {
				t.Errorf("answer %d: %s", i, body)
			}
		default:
			if n := strings.Count(body, `"delta":{"content":`); n != 50 {
				t.Errorf("answer %d has %d tokens, want 50:\n%s", i, n, body)
			}
			if !strings.HasSuffix(body, "data: [DONE]\n\n") {
				t.Errorf("answer %d does not end with [DONE]", i)
			}
		}
	}
}

// A request that comes byte by byte while another one streams is still whole.
func TestARequestSentWhileAStreamRuns(t *testing.T) {
	sim := startFast(t)
	c, r := dial(t, sim)
	send(t, c, postChat(chatBody("endless", 100, `,"stream":true`)))
	next := postChat(chatBody("fast", 5, ""))
	for i := range len(next) {
		send(t, c, next[i:i+1])
	}
	answer(t, r)
	if resp, body := answer(t, r); resp.StatusCode != http.StatusOK || !strings.Contains(body, `"completion_tokens":5`) {
		t.Errorf("%s %s", resp.Status, body)
	}
}

// A client that closes is noticed while it waits for its first token, while it
// waits for a whole answer, and in the middle of a stream.
func TestAClientThatLeavesFreesItsRequest(t *testing.T) {
	for name, c := range map[string]struct {
		body  string
		reads bool // some of the stream first
	}{
		"waiting":          {chatBody("slow", 5, `,"stream":true`), false},
		"waiting for all":  {chatBody("slow", 5, ""), false},
		"streaming":        {chatBody("endless", 1_000_000, `,"stream":true`), true},
		"answer in making": {chatBody("endless", 1_000_000, ""), false},
	} {
		t.Run(name, func(t *testing.T) {
			sim := startFast(t)
			conn, r := dial(t, sim)
			send(t, conn, postChat(c.body))
			if c.reads {
				if _, err := r.ReadString('}'); err != nil {
					t.Fatal(err)
				}
			}
			count := func() (requests wire.Requests) {
				for _, m := range summary(t, sim, "").Models {
					requests.Running += m.Requests.Running
					requests.Completed += m.Requests.Completed
					if n := m.Requests.Aborted["client_closed"]; n > 0 {
						requests.Aborted = m.Requests.Aborted
					}
				}
				return requests
			}
			waitFor(t, "the request runs", func() bool { return count().Running == 1 })
			conn.Close()
			waitFor(t, "the request is released", func() bool {
				n := count()
				return n.Running == 0 && n.Completed == 0 && n.Aborted["client_closed"] == 1
			})
		})
	}
}

// A reader that stops reading is aborted once its own buffer is full; a stream
// beside it is on time as if it were alone.
func TestASlowReaderHurtsItselfOnly(t *testing.T) {
	sim := simtest.Start(t, simtest.WithModels(`
models:
  - name: burst
    context_length: 16000000
    tokenizer: regex
    engine: fixed_rate
    latency: {overhead_ms: 0, prefill_tokens_per_second: 10000000, itl_ms: 0}
  - name: other
    context_length: 4096
    tokenizer: regex
    engine: fixed_rate
    latency: {overhead_ms: 0, prefill_tokens_per_second: 10000000, itl_ms: 0.1}
`), simtest.WithServer(simserver.Options{MaxPendingBytes: 64 << 10}))
	stuck, _ := dial(t, sim)
	send(t, stuck, postChat(chatBody("burst", 200_000, `,"stream":true`)))
	conn, r := dial(t, sim)
	send(t, conn, postChat(chatBody("other", 500, `,"stream":true`)))
	if _, body := answer(t, r); strings.Count(body, `"delta":{"content":`) != 500 {
		t.Error("the other stream lost tokens")
	}
	waitFor(t, "the stuck stream is aborted", func() bool {
		return summary(t, sim, "").Models["burst"].Requests.Aborted["slow_reader"] == 1
	})
	if n := summary(t, sim, "").Models["other"]; n.Requests.Completed != 1 || n.BackpressuredTokens != 0 {
		t.Errorf("the other stream: %+v", n)
	}
}

// A reader that is slow but not stuck gets every byte.
func TestALateReaderGetsEverything(t *testing.T) {
	sim := simtest.Start(t, simtest.WithModels(testModels), simtest.WithServer(simserver.Options{MaxPendingBytes: 64 << 20}))
	for _, model := range []string{"fast", "instant"} {
		conn, r := dial(t, sim)
		tokens := 4000
		if model == "instant" {
			tokens = 100_000
		}
		send(t, conn, postChat(chatBody(model, tokens, `,"stream":true`)))
		waitFor(t, "the request has begun", func() bool { return summary(t, sim, "").Models[model].Requests.Received == 1 })
		if _, body := answer(t, r); strings.Count(body, `"delta":{"content":`) != tokens {
			t.Errorf("%s: tokens were lost", model)
		}
	}
}

// A pipelined request can't be looked at before the answer in front of it was due
// to end, so that is when it arrives.
func TestAPipelinedRequestArrivesWhenItsTurnComes(t *testing.T) {
	sim := startFast(t)
	c, r := dial(t, sim)
	send(t, c, postChat(chatBody("endless", 300, `,"stream":true`))+postChat(chatBody("fast", 3, `,"stream":true`)))
	answer(t, r)
	answer(t, r)
	waitFor(t, "both are counted", func() bool { return summary(t, sim, "").Models["fast"].Requests.Completed == 1 })
	// The first answer lasts 299 ms; had the second arrived with it, its lag would
	// be as long.
	if lag := summary(t, sim, "").Models["fast"].Metrics["lag"].Server; lag == nil || lag.P50 > 200 {
		t.Errorf("lag of the pipelined request: %+v ms", lag)
	}
}

// A whole answer of any length reaches a reader that reads.
func TestALongWholeAnswer(t *testing.T) {
	sim := startFast(t)
	c, r := dial(t, sim)
	send(t, c, postChat(chatBody("instant", 1_000_000, "")))
	resp, body := answer(t, r)
	if resp.StatusCode != http.StatusOK || !strings.Contains(body, `"completion_tokens":1000000`) {
		t.Errorf("%s, %d bytes", resp.Status, len(body))
	}
}

// A reader that is stuck on an engine without pace is a slow reader too.
func TestAStuckReaderOfInstantIsASlowReader(t *testing.T) {
	sim := simtest.Start(t, simtest.WithModels(testModels), simtest.WithServer(simserver.Options{SlowReaderTimeout: 50 * time.Millisecond}))
	c, _ := dial(t, sim)
	send(t, c, postChat(chatBody("instant", 1_000_000, `,"stream":true`)))
	waitFor(t, "the stream is aborted", func() bool {
		return summary(t, sim, "").Models["instant"].Requests.Aborted["slow_reader"] == 1
	})
}

func TestSimulatedTimesAreExact(t *testing.T) {
	sim := simtest.Start(t)
	conn, r := dial(t, sim)
	prompt := strings.TrimSpace(strings.Repeat("word ", 512))
	body := fmt.Sprintf(`{"model":"sim-fixed","messages":[{"role":"user","content":%q}],"max_tokens":16,"stream":true,"stream_options":{"include_usage":true}}`, prompt)
	send(t, conn, postChat(body, wire.HeaderPhase+": run/measure", wire.HeaderTiming+": 1"))
	_, text := answer(t, r)

	const ttft, tpot = 7.12, 4.0 // ms
	m := summary(t, sim, "run/measure").Models["sim-fixed"]
	if got := m.Metrics["ttft"].Simulated; got == nil || got.P50 != ttft {
		t.Errorf("simulated ttft %+v, want %v ms", got, ttft)
	}
	if got := m.Metrics["tpot"].Simulated; got == nil || got.P50 != tpot {
		t.Errorf("simulated tpot %+v, want %v ms", got, tpot)
	}
	if got := m.Metrics["lag"].Server; got == nil || got.Count != 16 {
		t.Errorf("lag %+v, want one for each of 16 tokens", got)
	}
	if other := summary(t, sim, "run/warmup").Models["sim-fixed"].Requests; other.Received != 0 {
		t.Errorf("another phase has %+v", other)
	}

	// The same, joined to the request.
	at := strings.LastIndex(text[:strings.Index(text, wire.TimingKey)], `{"id"`)
	var event struct {
		Timing wire.Timing `json:"llmsim_timing"`
	}
	if err := json.NewDecoder(strings.NewReader(text[at:])).Decode(&event); err != nil {
		t.Fatal(err)
	}
	if got := event.Timing.Simulated; got.FirstNS != 7_120_000 || got.LastNS != 7_120_000+15*4_000_000 {
		t.Errorf("timing extension: %+v", got)
	}
	if got := event.Timing.Server; got.FirstNS < 7_120_000 || got.LastNS < got.FirstNS {
		t.Errorf("timing extension, server: %+v", got)
	}
}

func TestDrainEndsWhatRunsAndRefusesWhatComes(t *testing.T) {
	models, err := config.Parse("models.yml", []byte(testModels))
	if err != nil {
		t.Fatal(err)
	}
	server, err := simserver.Listen("127.0.0.1:0", models, simserver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve() }()
	sim := &simtest.Simulator{URL: server.URL(), Address: server.Address()}

	running, runningReader := dial(t, sim)
	idle, idleReader := dial(t, sim)
	send(t, running, postChat(chatBody("endless", 1000, `,"stream":true`)))
	first, err := runningReader.Peek(1)
	if err != nil {
		t.Fatalf("%q: %v", first, err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- server.Shutdown(context.Background()) }()
	waitFor(t, "the drain begins", func() bool {
		resp, err := http.Get("http://" + sim.Address + "/health")
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		return resp.StatusCode == http.StatusServiceUnavailable
	})
	send(t, idle, postChat(chatBody("fast", 5, "")))
	if resp, body := answer(t, idleReader); resp.StatusCode != http.StatusServiceUnavailable || !strings.Contains(body, "draining") {
		t.Errorf("while draining: %s %s", resp.Status, body)
	}
	if _, body := answer(t, runningReader); strings.Count(body, `"delta":{"content":`) != 1000 {
		t.Error("the running stream was cut")
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if err := <-served; err != simserver.ErrClosed {
		t.Errorf("serve: %v", err)
	}
}

func TestDrainIsBounded(t *testing.T) {
	models, err := config.Parse("models.yml", []byte(testModels))
	if err != nil {
		t.Fatal(err)
	}
	server, err := simserver.Listen("127.0.0.1:0", models, simserver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve() }()
	c, r := dial(t, &simtest.Simulator{Address: server.Address()})
	send(t, c, postChat(chatBody("slow", 5, `,"stream":true`)))
	if _, err := r.Peek(1); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := server.Shutdown(ctx); err == nil {
		t.Error("Shutdown did not say that an answer was cut")
	}
	if _, err := io.ReadAll(r); err != nil && !strings.Contains(err.Error(), "reset") {
		t.Errorf("the cut connection ended with %v", err)
	}
}
