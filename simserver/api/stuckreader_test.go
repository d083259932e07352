package api

import (
	"fmt"
	"net"
	"testing"
	"time"

	"llmsim-bench/internal/sleep"
	"llmsim-bench/simserver/conn"
	"llmsim-bench/simserver/engine"
	"llmsim-bench/simserver/llm"
	"llmsim-bench/simserver/metrics"
)

// startServer serves the model m, which says everything at once, until the test ends.
func startServer(t *testing.T, context int) (s *Server, address string) {
	t.Helper()
	s = NewServer(Config{
		Models: []Model{{
			Name: "m", ContextLength: context, Engine: engine.Instant{}, Generator: llm.NewGenerator(llm.Options{ContextLength: context}),
		}},
		Metrics: metrics.New([]metrics.Model{{Name: "m"}}, 1), Clock: sleep.NewClock(), TimeScale: 1, Arrivals: &conn.Arrivals{},
		MaxBodyBytes: 100_000, MaxPendingBytes: 100_000, SlowReaderTimeout: time.Hour,
	})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	t.Cleanup(func() {
		_ = s.Shutdown(t.Context()) // which is over: whatever runs is cut short
		ln.Close()
		if err := <-served; err != ErrClosed {
			t.Error(err)
		}
	})
	return s, ln.Addr().String()
}

// A reader that is stuck holds up no decision of other models' engines: its request
// has been looked at, though its answer goes on.
func TestAStuckReaderIsNotOnItsWay(t *testing.T) {
	for _, stream := range []bool{true, false} {
		s, address := startServer(t, 1_500_000)
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.(*net.TCPConn).SetReadBuffer(4096); err != nil {
			t.Error(err)
		}
		body := fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":"x"}],"max_tokens":25000,"logprobs":true,"top_logprobs":20,"stream":%v}`, stream)
		if _, err := fmt.Fprintf(c, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body); err != nil {
			t.Fatal(err)
		}
		running := func() bool { return s.config.Metrics.Summary("").Models["m"].Requests.Running == 1 }
		settled := func() bool { return running() && s.config.Arrivals.Settled(s.config.Clock.Now()) }
		for deadline := time.Now().Add(20 * time.Second); !settled(); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Errorf("stream %v: the request counts as on its way for as long as its reader is stuck", stream)
				break
			}
		}
		if !running() {
			t.Error("the answer ended: its reader was not stuck")
		}
		c.Close()
	}
}
