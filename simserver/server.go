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
	"llmsim-bench/simserver/conn"
	"llmsim-bench/simserver/engine"
	"llmsim-bench/simserver/eventlog"
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
	// Responses is what the models say; nil: filler.
	Responses *config.Responses
	// ResponsesFile is what Reload reads instead; empty: nothing to reload.
	ResponsesFile string
	// EventLog is a file for what the scheduler engines act on, for a replay in
	// virtual time; empty: none.
	EventLog string
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
	listener  net.Listener
	api       *api.Server
	responses *responses
	engines   []engine.Engine
	timetable *engine.Timetable
	events    *eventlog.Writer // nil: none
}

// Listen builds the models and opens the address (host:port; port 0 takes a
// free one). Nothing is answered before Serve.
func Listen(address string, models *config.Config, options Options) (*Server, error) {
	options = options.withDefaults()
	s := &Server{responses: newResponses(options.Responses, options.ResponsesFile)}
	if options.EventLog != "" {
		var err error
		if s.events, err = eventlog.Create(options.EventLog); err != nil {
			return nil, err
		}
	}
	if err := s.build(address, models, options); err != nil {
		return nil, errors.Join(err, s.closeEngines())
	}
	return s, nil
}

// build makes the parts.
func (s *Server) build(address string, models *config.Config, options Options) error {
	clock := engine.ScaledClock{Wall: sleep.NewClock(), Scale: models.TimeScale}
	arrivals := &conn.Arrivals{}
	s.timetable = engine.NewTimetable(clock, clock.NewSleeper(), int64(engine.DefaultRest*clock.Scale))
	counted := make([]metrics.Model, 0, len(models.Models))
	served := make([]api.Model, 0, len(models.Models))
	for _, m := range models.Models {
		e, err := s.newModel(m, clock, arrivals)
		if err != nil {
			return err
		}
		s.engines = append(s.engines, e)
		steps, _ := e.(metrics.StepCounter)
		replicas, _ := e.(metrics.Replicated)
		counted = append(counted, metrics.Model{Name: m.Name, Engine: m.Engine, Steps: steps, Replicas: replicas})
		generator, err := s.newGenerator(m)
		if err != nil {
			return err
		}
		served = append(served, api.Model{Name: m.Name, ContextLength: m.ContextLength, Engine: s.timetable.Before(e), Generator: generator})
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	s.listener = listener
	s.api = api.NewServer(api.Config{
		Models: served, Metrics: metrics.New(counted, clock.Scale), Clock: clock, TimeScale: clock.Scale,
		Arrivals: arrivals, Reload: s.Reload, Version: options.Version,
		MaxBodyBytes: options.MaxBodyBytes, MaxPendingBytes: options.MaxPendingBytes,
		SlowReaderTimeout: options.SlowReaderTimeout,
	})
	return nil
}

// newGenerator builds what decides what a model says. What its template adds is the
// tokenizer's where the file does not say.
func (s *Server) newGenerator(m config.Model) (*llm.Generator, error) {
	tokenizer, err := llm.NewTokenizer(m.Tokenizer)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.Where, err)
	}
	perMessage, perRequest := llm.TemplateTokens(m.Tokenizer)
	override(&perMessage, m.TemplateOverhead.TokensPerMessage)
	override(&perRequest, m.TemplateOverhead.TokensPerRequest)
	return llm.NewGenerator(llm.Options{
		ContextLength: m.ContextLength, TokensPerMessage: perMessage, TokensPerRequest: perRequest,
		Tokenizer: tokenizer, SplitCharacters: m.SplitCharacters, Model: m.Name, Responses: &s.responses.book,
	}), nil
}

// newModel builds the engine of a model, or the router over its replicas. Errors
// name its place in the file.
func (s *Server) newModel(m config.Model, clock engine.ScaledClock, arrivals *conn.Arrivals) (engine.Engine, error) {
	if m.Replicas <= 1 {
		return s.newEngine(m, 0, clock, arrivals)
	}
	var replicas []engine.Engine
	for i := range m.Replicas {
		e, err := s.newEngine(m, i, clock, arrivals)
		if err != nil {
			for _, e := range replicas {
				e.Close()
			}
			return nil, err
		}
		replicas = append(replicas, e)
	}
	return engine.NewRouter(replicas, newRoute(m)), nil
}

// affinityBlock is the block size of prefix affinity for engines without blocks.
const affinityBlock = 16

// newRoute builds the rule by which a model's replicas are chosen.
func newRoute(m config.Model) engine.Route {
	switch m.Route {
	case config.RouteLeastLoaded:
		return engine.LeastLoaded{}
	case config.RoutePrefixAffinity:
		if m.Engine == config.EngineScheduler {
			return engine.NewPrefixAffinity(m.Scheduler.KVCache.BlockSize)
		}
		return engine.NewPrefixAffinity(affinityBlock)
	}
	return &engine.RoundRobin{}
}

// newEngine builds one replica of a model.
func (s *Server) newEngine(m config.Model, replica int, clock engine.ScaledClock, arrivals *conn.Arrivals) (engine.Engine, error) {
	switch m.Engine {
	case config.EngineInstant:
		return engine.Instant{}, nil
	case config.EngineFixedRate:
		e, err := engine.NewFixedRate(engine.FixedRateConfig{
			Overhead:               m.FixedRate.Overhead,
			PrefillTokensPerSecond: m.FixedRate.PrefillTokensPerSecond,
			ITL:                    m.FixedRate.ITL,
			Rest:                   int64(engine.DefaultRest * clock.Scale),
		}, clock, clock.NewSleeper())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Where, err)
		}
		return e, nil
	case config.EngineScheduler:
		timeline, err := NewTimeline(m)
		if err != nil {
			return nil, err
		}
		var log engine.Log
		if s.events != nil {
			log = s.events.Model(m.Name, replica, timeline.Description)
		}
		return engine.NewBatched(engine.BatchedConfig{
			Loop: timeline.Loop, Scheduler: timeline.Config,
			FrontEnd: int64(timeline.FrontEnd), Grace: int64(timeline.grace(clock.Scale)),
			Poll: int64(engine.DefaultPoll * clock.Scale), MaxWaiting: m.Scheduler.Options.MaxWaiting,
			Clock: clock, Sleeper: clock.NewSleeper(), Frontier: arrivals, Log: log,
		}), nil
	}
	return nil, fmt.Errorf("%s: engine %q is unknown", m.Where, m.Engine)
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
	return errors.Join(err, s.listener.Close(), s.closeEngines())
}

// closeEngines stops the engines, then ends their log.
func (s *Server) closeEngines() error {
	for _, e := range s.engines {
		e.Close()
	}
	if s.timetable != nil {
		s.timetable.Close()
	}
	if s.events != nil {
		return s.events.Close()
	}
	return nil
}
