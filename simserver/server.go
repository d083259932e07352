// Package simserver is an OpenAI-compatible server without a model: it answers
// as an inference engine would in time, with text that is made up. This file is
// the composition root, the only one that sees the configuration and the parts
// together.
package simserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"llmsim-bench/internal/sleep"
	"llmsim-bench/simserver/api"
	"llmsim-bench/simserver/config"
	"llmsim-bench/simserver/engine"
	"llmsim-bench/simserver/llm"
	"llmsim-bench/simserver/metrics"
)

// Options are what a server needs beside its models. The zero value of a field
// stands for its default.
type Options struct {
	// Version is what /version answers; default "dev".
	Version string
	// MaxBodyBytes bounds a request's body; default 4 MiB.
	MaxBodyBytes int
	// MaxPendingBytes bounds what one stream's slow reader may leave waiting
	// before the stream is aborted; default 256 KiB.
	MaxPendingBytes int
	// SlowReaderTimeout bounds how long the end of an answer waits for its
	// reader; default 30 s.
	SlowReaderTimeout time.Duration
}

func (o Options) withDefaults() Options {
	if o.Version == "" {
		o.Version = "dev"
	}
	if o.MaxBodyBytes == 0 {
		o.MaxBodyBytes = 4 << 20
	}
	if o.MaxPendingBytes == 0 {
		o.MaxPendingBytes = 256 << 10
	}
	if o.SlowReaderTimeout == 0 {
		o.SlowReaderTimeout = 30 * time.Second
	}
	return o
}

// ErrClosed is what Serve returns after Shutdown.
var ErrClosed = api.ErrClosed

// Server is a simulator on one listener.
type Server struct {
	listener net.Listener
	api      *api.Server
	engines  []engine.Engine
}

// Listen builds the models and opens the address (host:port; port 0 takes a
// free one). Nothing is answered before Serve.
func Listen(address string, models *config.Config, options Options) (*Server, error) {
	options = options.withDefaults()
	clock := sleep.NewClock()
	s := &Server{}
	counted := make([]metrics.Model, 0, len(models.Models))
	served := make([]api.Model, 0, len(models.Models))
	for _, m := range models.Models {
		e, err := newEngine(m, clock)
		if err != nil {
			s.closeEngines()
			return nil, fmt.Errorf("model %q: %w", m.Name, err)
		}
		s.engines = append(s.engines, e)
		counted = append(counted, metrics.Model{Name: m.Name, Engine: m.Engine})
		served = append(served, api.Model{
			Name: m.Name, ContextLength: m.ContextLength, Engine: e,
			Generator: llm.NewGenerator(llm.Options{
				ContextLength:    m.ContextLength,
				TokensPerMessage: m.TemplateOverhead.TokensPerMessage,
				TokensPerRequest: m.TemplateOverhead.TokensPerRequest,
			}),
		})
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		s.closeEngines()
		return nil, err
	}
	s.listener = listener
	s.api = api.NewServer(api.Config{
		Models: served, Metrics: metrics.New(counted), Clock: clock, Version: options.Version,
		MaxBodyBytes: options.MaxBodyBytes, MaxPendingBytes: options.MaxPendingBytes,
		SlowReaderTimeout: options.SlowReaderTimeout,
	})
	return s, nil
}

// newEngine builds the engine that a model asks for.
func newEngine(m config.Model, clock sleep.Clock) (engine.Engine, error) {
	switch m.Engine {
	case config.EngineInstant:
		return engine.Instant{}, nil
	case config.EngineFixedRate:
		return engine.NewFixedRate(engine.FixedRateConfig{
			Overhead:               m.FixedRate.Overhead,
			PrefillTokensPerSecond: m.FixedRate.PrefillTokensPerSecond,
			ITL:                    m.FixedRate.ITL,
		}, clock, sleep.New(clock))
	}
	return nil, fmt.Errorf("engine %q is unknown", m.Engine)
}

// Address is the address that the server listens on.
func (s *Server) Address() string { return s.listener.Addr().String() }

// URL is the base URL for an OpenAI client.
func (s *Server) URL() string { return "http://" + s.Address() + "/v1" }

// Serve answers requests until Shutdown, and then returns ErrClosed.
func (s *Server) Serve() error { return s.api.Serve(s.listener) }

// Shutdown refuses new requests with 503, lets the answers that were begun end
// until ctx is over, and closes everything. It returns ctx's error if answers
// were cut short.
func (s *Server) Shutdown(ctx context.Context) error {
	err := s.api.Shutdown(ctx)
	err = errors.Join(err, s.listener.Close())
	s.closeEngines()
	return err
}

func (s *Server) closeEngines() {
	for _, e := range s.engines {
		e.Close()
	}
}
