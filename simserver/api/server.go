// Package api is the simulator's HTTP side: it decodes and checks requests,
// answers them in OpenAI's form, and carries the engines' tokens to the
// connections. It decides neither what is said nor when.
package api

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"llmsim-bench/internal/wire"
	"llmsim-bench/simserver/conn"
	"llmsim-bench/simserver/engine"
	"llmsim-bench/simserver/llm"
	"llmsim-bench/simserver/metrics"
)

// Config is what a Server is built from.
type Config struct {
	// Models in the order in which /v1/models lists them.
	Models  []Model
	Metrics *metrics.Registry
	// Clock is the timeline's, which runs TimeScale times as fast as the wall clock.
	Clock     engine.Clock
	TimeScale float64
	// Arrivals is told of all that is received, and asked by engines.
	Arrivals *conn.Arrivals
	// Reload has the responses read again, for /admin/reload; nil: there are none.
	Reload func() (Reloaded, error)
	// Version is what /version answers.
	Version string
	// MaxBodyBytes bounds a request's body.
	MaxBodyBytes int
	// MaxPendingBytes bounds what waits for a slow reader of one stream.
	MaxPendingBytes int
	// SlowReaderTimeout bounds how long the end of an answer waits for its reader.
	SlowReaderTimeout time.Duration
}

// Model is one served model.
type Model struct {
	Name          string
	ContextLength int
	Generator     *llm.Generator
	Engine        engine.Engine
}

// Server answers on any number of connections.
type Server struct {
	config  Config
	models  map[string]*Model
	started int64 // Unix seconds
	ids     atomic.Uint64
	http    fasthttp.Server

	draining atomic.Bool
	mu       sync.Mutex
	peers    map[*peer]struct{}
	accepted int64 // connections
	stopped  bool
}

// peer is a connection with the answer that its last request was promised.
type peer struct {
	*conn.Conn
	answer   *answer
	handover chan error
	// previousDue is when the last token of the answer before was due.
	previousDue int64
	closeGently bool
}

// NewServer returns a server that is not listening yet.
func NewServer(config Config) *Server {
	s := &Server{
		config: config, models: make(map[string]*Model), started: created(), peers: make(map[*peer]struct{}),
	}
	for i := range config.Models {
		s.models[config.Models[i].Name] = &config.Models[i]
	}
	s.http = fasthttp.Server{
		Name:               wire.ServerName,
		Handler:            s.handle,
		ErrorHandler:       s.handleBroken,
		MaxRequestBodySize: config.MaxBodyBytes,
		KeepHijackedConns:  true, // answers are sent by peer, then the connection is served again
		CloseOnShutdown:    true,
		Logger:             silent{}, // what a client sends wrong is answered to the client
	}
	return s
}

type silent struct{}

func (silent) Printf(string, ...any) {}

// ErrClosed is what Serve returns after Shutdown.
var ErrClosed = errors.New("api: server closed")

// Serve answers on ln's connections until ln fails or Shutdown is called.
func (s *Server) Serve(ln net.Listener) error {
	listener := conn.NewListener(ln, s.config.Clock, s.config.Arrivals, s.config.MaxPendingBytes)
	for {
		c, err := listener.AcceptConn()
		if err != nil {
			if s.isStopped() {
				return ErrClosed
			}
			if temporary(err) {
				time.Sleep(10 * time.Millisecond) // out of descriptors: some will come back
				continue
			}
			return err
		}
		p := &peer{Conn: c, handover: make(chan error, 1)}
		if !s.register(p) {
			_ = c.Close()
			return ErrClosed
		}
		go s.servePeer(p)
	}
}

// temporary reports whether accepting may succeed later, as net/http judges it.
func temporary(err error) bool {
	var t interface{ Temporary() bool }
	return errors.As(err, &t) && t.Temporary()
}

// servePeer lets fasthttp read requests from a connection until one asks for an
// answer of ours, sends that, and goes on.
func (s *Server) servePeer(p *peer) {
	defer s.unregister(p)
	for {
		p.answer = nil
		err := s.http.ServeConn(p)
		switch {
		case p.answer == nil:
			return // closed by fasthttp; an error is the client's, which was answered or has left
		case err != nil: // closed too, before it was handed over
			p.answer.abandon(err)
			return
		}
		if err := <-p.handover; err != nil {
			p.answer.abandon(err)
			_ = p.Conn.Close()
			return
		}
		keep := p.answer.run()
		p.previousDue = p.answer.lastDue()
		if !keep {
			_ = p.Conn.Close()
			return
		}
	}
}

// Close implements net.Conn for fasthttp.
func (p *peer) Close() error {
	if p.closeGently {
		return p.CloseGently()
	}
	return p.Conn.Close()
}

func (s *Server) register(p *peer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.stopped {
		s.peers[p] = struct{}{}
		s.accepted++
	}
	return !s.stopped
}

func (s *Server) unregister(p *peer) {
	p.LookedAt()
	s.mu.Lock()
	delete(s.peers, p)
	s.mu.Unlock()
}

func (s *Server) isStopped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopped
}

// drainPoll is how often Shutdown looks whether all answers have ended.
const drainPoll = 5 * time.Millisecond

// Shutdown answers new requests with 503, waits until every answer that was
// begun has ended or ctx is over, then closes all connections. The caller
// closes the listener afterwards. The error is ctx's if answers were cut short.
func (s *Server) Shutdown(ctx context.Context) error {
	s.draining.Store(true)
	tick := time.NewTicker(drainPoll)
	defer tick.Stop()
	var err error
	for s.busy() && err == nil {
		select {
		case <-tick.C:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	s.mu.Lock()
	s.stopped = true
	for p := range s.peers {
		_ = p.Conn.Close()
	}
	s.mu.Unlock()
	return err
}

// busy reports whether a connection may hold a request that is not answered.
func (s *Server) busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for p := range s.peers {
		if p.MayHoldRequest() {
			return true
		}
	}
	return false
}

// abortReason names why a connection failed: the server's own doing while it
// stops, else the client's.
func (s *Server) abortReason(err error) string {
	if errors.Is(err, net.ErrClosed) && s.draining.Load() {
		return abortDrain
	}
	return abortReason(err)
}
