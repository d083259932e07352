package api

import (
	"fmt"
	"net"
	"testing"

	"llmsim-bench/internal/sleep"
	"llmsim-bench/simserver/conn"
	"llmsim-bench/simserver/engine"
	"llmsim-bench/simserver/llm"
	"llmsim-bench/simserver/metrics"
)

// resettingEngine has its client reset the connection just when a request is
// accepted.
type resettingEngine struct {
	stallingEngine
	reset func()
}

func (e resettingEngine) Accept(*engine.Request) error {
	e.reset()
	return nil
}

// An answer to a plain route is held back while a request behind it is read. If
// it then can't be sent, the request has been accepted, but the connection is
// never handed over for its answer: it has to be given up all the same.
func TestAConnectionThatFailsBeforeItsHandover(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	client, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	e := resettingEngine{
		stallingEngine{make(chan *engine.Request, 1), make(chan *engine.Request, 1)},
		func() { _ = client.(*net.TCPConn).SetLinger(0); client.Close() },
	}
	registry := metrics.New([]metrics.Model{{Name: "m"}}, 1)
	s := NewServer(Config{
		Models: []Model{{
			Name: "m", ContextLength: 1000, Engine: e, Generator: llm.NewGenerator(llm.Options{ContextLength: 1000}),
		}},
		Metrics: registry, Clock: sleep.NewClock(), TimeScale: 1, Arrivals: &conn.Arrivals{}, MaxBodyBytes: 1000,
	})
	const body = `{"model":"m","messages":[{"role":"user","content":"x"}],"stream":true}`
	if _, err := fmt.Fprintf(client, "GET /health HTTP/1.1\r\nHost: x\r\n\r\n"+
		"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body); err != nil {
		t.Fatal(err)
	}
	c, err := conn.NewListener(ln, s.config.Clock, s.config.Arrivals, 1000).AcceptConn()
	if err != nil {
		t.Fatal(err)
	}
	s.servePeer(&peer{Conn: c, handover: make(chan error, 1)}) // returns
	select {
	case <-e.aborted:
	default:
		t.Error("the engine was not told")
	}
	if n := registry.Summary("").Models["m"].Requests; n.Running != 0 || n.Aborted[abortClientGone] != 1 {
		t.Errorf("%+v, want 1 aborted as %s", n, abortClientGone)
	}
}
