package api

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"llmsim-bench/internal/sleep"
	"llmsim-bench/simserver/conn"
	"llmsim-bench/simserver/engine"
	"llmsim-bench/simserver/llm"
	"llmsim-bench/simserver/metrics"
)

// fullEngine refuses as long as refusals are left.
type fullEngine struct {
	engine.Instant
	refusals chan time.Duration
}

func (e fullEngine) Accept(*engine.Request) error {
	select {
	case wait := <-e.refusals:
		return &engine.QueueFull{Waiting: 7, Wait: wait}
	default:
		return nil
	}
}

// A full queue is answered with 429 and when to come back, by the wall clock; the
// connection stays.
func TestAFullQueueIsAnsweredWith429(t *testing.T) {
	e := fullEngine{refusals: make(chan time.Duration, 4)}
	registry := metrics.New([]metrics.Model{{Name: "m"}}, 10)
	s := NewServer(Config{
		Models: []Model{{
			Name: "m", ContextLength: 1000, Engine: e, Generator: llm.NewGenerator(llm.Options{ContextLength: 1000}),
		}},
		Metrics: registry, Clock: sleep.NewClock(), TimeScale: 10, Arrivals: &conn.Arrivals{},
		MaxBodyBytes: 1000, MaxPendingBytes: 100_000, SlowReaderTimeout: time.Minute,
	})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(c)
	ask := func() (*http.Response, []byte) {
		t.Helper()
		const body = `{"model":"m","messages":[{"role":"user","content":"x"}],"max_tokens":3,"stream":true}`
		_, err := fmt.Fprintf(c, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nX-LLMSim-Phase: p\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp, text
	}
	for _, refusal := range []struct {
		wait  time.Duration // on the timeline
		retry string
	}{{0, "1"}, {time.Second, "1"}, {10 * time.Second, "1"}, {31 * time.Second, "4"}} {
		e.refusals <- refusal.wait
		resp, text := ask()
		if resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") != refusal.retry {
			t.Errorf("wait %v: %s, Retry-After %q; want 429 and %s", refusal.wait, resp.Status, resp.Header.Get("Retry-After"), refusal.retry)
		}
		var answer struct {
			Error struct{ Message, Type, Code string }
		}
		if err := json.Unmarshal(text, &answer); err != nil || answer.Error.Type != "rate_limit_error" ||
			answer.Error.Code != "rate_limit_exceeded" || answer.Error.Message == "" {
			t.Errorf("%s (%v)", text, err)
		}
	}
	if resp, text := ask(); resp.StatusCode != http.StatusOK {
		t.Errorf("once there is room: %s %s", resp.Status, text)
	}
	for _, phase := range []string{"", "p"} {
		n := registry.Summary(phase).Models["m"].Requests
		if n.Received != 1 || n.Completed != 1 || n.Running != 0 || len(n.Aborted) != 0 || n.Rejected[rejectQueueFull] != 4 {
			t.Errorf("phase %q: %+v, want 1 completed and 4 rejected", phase, n)
		}
	}
	c.Close()
	if err := s.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	ln.Close()
	if err := <-served; err != ErrClosed {
		t.Error(err)
	}
}
