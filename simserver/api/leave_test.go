package api

import (
	"fmt"
	"io"
	"net"
	"testing"

	"llmsim-bench/internal/sleep"
	"llmsim-bench/simserver/conn"
	"llmsim-bench/simserver/engine"
	"llmsim-bench/simserver/llm"
	"llmsim-bench/simserver/metrics"
	"llmsim-bench/simserver/plan"
)

// stallingEngine never says anything, and tells what it is asked to let go of.
type stallingEngine struct {
	submitted, aborted chan *engine.Request
}

func (stallingEngine) Check(*plan.Plan) error       { return nil }
func (stallingEngine) Accept(*engine.Request) error { return nil }
func (e stallingEngine) Submit(r *engine.Request)   { e.submitted <- r }
func (e stallingEngine) Abort(r *engine.Request)    { e.aborted <- r }
func (stallingEngine) Close()                       {}

// A client that is gone before its request is submitted gives its place back.
func TestAClientThatLeavesBeforeItsRequestIsSubmitted(t *testing.T) {
	e := stallingEngine{make(chan *engine.Request, 1), make(chan *engine.Request, 1)}
	registry := metrics.New([]metrics.Model{{Name: "m"}}, 1)
	s := NewServer(Config{
		Models: []Model{{Name: "m", Engine: e}}, Metrics: registry, Clock: sleep.NewClock(), TimeScale: 1, Arrivals: &conn.Arrivals{},
	})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	client, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	c, err := conn.NewListener(ln, s.config.Clock, s.config.Arrivals, 1000).AcceptConn()
	if err != nil {
		t.Fatal(err)
	}
	a := &answer{server: s, model: s.models["m"], peer: &peer{Conn: c}, metrics: registry.Begin("m", "", 1), order: &order{form: chatForm{}, streamed: true}}
	a.request.Plan = &plan.Plan{}
	c.Close() // as a failed write would find it
	if a.run() {
		t.Error("the connection is said to take another request")
	}
	select {
	case got := <-e.aborted:
		if got != &a.request {
			t.Error("another request was aborted")
		}
	default:
		t.Error("the engine was not told")
	}
	if n := registry.Summary("").Models["m"].Requests; n.Running != 0 || n.Aborted[abortClientGone] != 1 {
		t.Errorf("%+v, want 1 aborted as %s", n, abortClientGone)
	}
}

// The engine has to let go of a request whose client leaves, streamed or not.
func TestALeavingClientIsAbortedInTheEngine(t *testing.T) {
	e := stallingEngine{make(chan *engine.Request, 1), make(chan *engine.Request, 1)}
	s := NewServer(Config{
		Models: []Model{{
			Name: "m", ContextLength: 1000, Engine: e, Generator: llm.NewGenerator(llm.Options{ContextLength: 1000}),
		}},
		Metrics: metrics.New([]metrics.Model{{Name: "m"}}, 1), Clock: sleep.NewClock(), TimeScale: 1, Arrivals: &conn.Arrivals{},
		MaxBodyBytes: 1000, MaxPendingBytes: 1000,
	})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	for _, stream := range []bool{true, false} {
		c, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		body := fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":"x"}],"stream":%v}`, stream)
		if _, err := fmt.Fprintf(c, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body); err != nil {
			t.Fatal(err)
		}
		r := <-e.submitted
		if stream {
			if _, err := io.ReadFull(c, make([]byte, 12)); err != nil { // the head comes at once
				t.Fatal(err)
			}
		}
		c.Close()
		if got := <-e.aborted; got != r {
			t.Error("another request was aborted")
		}
	}
	if err := s.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	ln.Close()
	if err := <-served; err != ErrClosed {
		t.Error(err)
	}
}
