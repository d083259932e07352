// Package bench is the load generator as a library: it takes a server's URL and
// the loads to put on it, and returns what was measured, with the client's own
// health. It is the composition root of its sub-packages and prints nothing.
package bench

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	"llmsim-bench/bench/load"
	"llmsim-bench/bench/record"
	"llmsim-bench/bench/report"
	"llmsim-bench/bench/summary"
	"llmsim-bench/bench/transport"
	"llmsim-bench/internal/sleep"
)

// Config says what to measure.
type Config struct {
	// URL is the base URL of an OpenAI-compatible server, such as
	// http://localhost:8000/v1.
	URL string
	// Model may be empty where the server has only one.
	Model  string
	APIKey string
	Workload
	// MaxInFlight caps the requests that are running at once; a request that
	// waits for its turn is timed from its due time all the same. 0: no cap.
	MaxInFlight int
	// Timeout bounds one request; 0: no bound.
	Timeout time.Duration
	// IgnoreEOS asks for exactly OutputTokens tokens. Servers that are known to
	// take the option get it anyway.
	IgnoreEOS bool
	// SLO is what every point should meet; nil: nothing.
	SLO summary.SLO
	// RecordsPath is a JSON Lines file with a record a request; empty: none.
	RecordsPath string
	// TLS is used for https; nil verifies the server against the system's roots.
	TLS *tls.Config
	// Version of the program, for the result.
	Version string
	// Progress, where given, is called a few times a second while load runs.
	Progress func(report.Status)
}

func (c *Config) check() error {
	errs := []error{c.Workload.Check()}
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.URL == "" {
		bad("the URL is empty, must be that of an OpenAI-compatible server, such as http://localhost:8000/v1")
	}
	if c.Timeout < 0 || c.Timeout > maxTime {
		bad("timeout %v is not possible, must be above 0 and at most %v, or 0 for none", c.Timeout, maxTime)
	}
	if c.MaxInFlight < 0 {
		bad("%d requests in flight are not possible, must be 1 or more, or 0 for no cap", c.MaxInFlight)
	}
	return errors.Join(errs...)
}

// Run measures every load in turn. When ctx ends early, it returns what was
// measured so far with Interrupted set; the error is nil then. An error without a
// result means that there is nothing to show: the configuration is impossible, or
// the server can't be used. An older file of records is left alone then. An error
// with a result means that the records could not be written, which ends the run
// like the end of ctx.
func Run(ctx context.Context, c Config) (*report.Result, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	target, err := transport.ParseTarget(c.URL)
	if err != nil {
		return nil, err
	}
	var records *record.Writer
	if c.RecordsPath != "" {
		if records, err = record.Create(c.RecordsPath); err != nil {
			return nil, err
		}
		defer records.Discard()
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	clock := sleep.NewClock()
	pool := transport.New(transport.Config{Target: target, Now: clock.Now, ConnectTimeout: connectTimeout, TLS: c.TLS})
	defer pool.Close()

	r := &runner{config: c, clock: clock, pool: pool, records: records, stop: stop}
	result := &report.Result{
		Schema: report.Schema, ToolVersion: c.Version, Started: time.Now(), TargetURL: c.URL,
		Seed: c.Seed, Machine: report.ThisMachine(), Points: []summary.Point{},
	}
	if err := r.meet(ctx); err != nil {
		return nil, err
	}
	result.Model = r.server.model
	for i := range c.Loads {
		point, ok, err := r.measure(ctx, i)
		if err != nil {
			return nil, err
		}
		if ok {
			result.Points = append(result.Points, point)
		}
		if ctx.Err() != nil {
			result.Interrupted = true
			break
		}
	}
	result.Configuration = r.resolved()
	if records != nil {
		if err = records.Close(); err != nil {
			r.note("The records are not complete: %v.", err)
		}
	}
	result.Notes = r.server.notes
	return result, err
}

// connectTimeout bounds opening a connection.
const connectTimeout = 10 * time.Second

// runner is one call of Run.
type runner struct {
	config  Config
	clock   sleep.Clock
	pool    *transport.Pool
	records *record.Writer
	stop    func() // ends the run
	server  server
	sender  *load.Sender
	// nextID is the next request's: prompts stay distinct across points.
	nextID int64
}

// resolved is the configuration as it was carried out, without secrets.
func (r *runner) resolved() any {
	stats := r.pool.Stats()
	return struct {
		Loads              []Load      `json:"loads"`
		DurationS          float64     `json:"duration_s"`
		WarmupS            float64     `json:"warmup_s"`
		PromptTokens       int         `json:"prompt_tokens"`
		OutputTokens       int         `json:"output_tokens"`
		MaxInFlight        int         `json:"max_in_flight"`
		TimeoutS           float64     `json:"timeout_s"`
		SLO                summary.SLO `json:"slo,omitempty"`
		Server             string      `json:"server"`
		Simulator          bool        `json:"simulator"`
		StreamUsage        bool        `json:"stream_usage"`
		IgnoreEOS          bool        `json:"ignore_eos"`
		TemplateTokens     int         `json:"template_tokens"`
		VocabularyWords    int         `json:"vocabulary_words"`
		Run                string      `json:"run"`
		ConnectionsOpened  int64       `json:"connections_opened"`
		ConnectionsReused  int64       `json:"connections_reused"`
		ConnectionsDropped int64       `json:"connections_dropped"`
	}{
		r.config.Loads, r.config.Duration.Seconds(), r.config.Warmup.Seconds(),
		r.config.PromptTokens, r.config.OutputTokens, r.config.MaxInFlight, r.config.Timeout.Seconds(), r.config.SLO,
		r.server.kind, r.server.simulator, r.sender.Extensions.StreamUsage, r.sender.Extensions.IgnoreEOS,
		r.server.calibration.Overhead, len(r.server.calibration.Vocabulary), r.server.run,
		stats.Dials, stats.Reuses, stats.Stale,
	}
}
