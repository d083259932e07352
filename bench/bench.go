// Package bench is the load generator as a library: it takes a server's URL and
// the loads to put on it, and returns what was measured, with the client's own
// health. It is the composition root of its sub-packages and prints nothing.
package bench

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"time"

	"llmsim-bench/bench/load"
	"llmsim-bench/bench/openai"
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
	// API is the endpoint under it.
	API openai.API
	// Model may be empty where the server has only one.
	Model  string
	APIKey string
	Workload
	// MaxInFlight caps the requests that are running at once; a request that
	// waits for its turn is timed from its due time all the same. 0: no cap.
	MaxInFlight int
	// ConnectTimeout bounds opening a connection; 0: no bound but the system's.
	ConnectTimeout time.Duration
	Timeouts       load.Timeouts
	// Leave makes clients leave early.
	Leave load.Leave
	// Retries is how often a refused request is made again; its latency counts
	// from when it was first due.
	Retries int
	// IgnoreEOS asks for exactly as many output tokens as the workload says.
	// Servers that are known to take the option get it anyway.
	IgnoreEOS bool
	// SLO is what every point should meet; nil: nothing.
	SLO summary.SLO
	// RecordsPath is a JSON Lines file with a record a request; empty: none.
	// RecordText keeps the answers' texts in it.
	RecordsPath string
	RecordText  bool
	// TLS is used for https; nil verifies the server against the system's roots.
	TLS *tls.Config
	// Proxy is an HTTP proxy's URL; nil: none, whatever the environment says.
	Proxy *url.URL
	// Timestamps says whose word it is when bytes came.
	Timestamps transport.Timestamps
	// Version of the program, for the result.
	Version string
	// BeforeLoad, where given, is called when the server is known and a load is
	// about to begin. Its error ends the run.
	BeforeLoad func(ctx context.Context, index int) error
	// Progress, where given, is called a few times a second while load runs.
	Progress func(report.Status)
}

func (c *Config) check() error {
	errs := []error{c.Workload.Check(), c.checkServer(), c.Leave.Check()}
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	for _, bound := range []struct {
		name  string
		limit time.Duration
	}{
		{"connect timeout", c.ConnectTimeout},
		{"header timeout", c.Timeouts.Header},
		{"first-token timeout", c.Timeouts.FirstToken},
		{"progress timeout", c.Timeouts.Progress},
		{"timeout", c.Timeouts.Total},
	} {
		if bound.limit < 0 || bound.limit > maxTime {
			bad("%s %v is not possible, must be above 0 and at most %v, or 0 for none", bound.name, bound.limit, maxTime)
		}
	}
	if c.MaxInFlight < 0 {
		bad("%d requests in flight are not possible, must be 1 or more, or 0 for no cap", c.MaxInFlight)
	}
	if c.Retries < 0 {
		bad("%d retries are not possible, must be 0 or more", c.Retries)
	}
	if c.Leave.AfterTokens > 0 && !c.API.Streams() {
		bad("clients can't leave after tokens: the %s API does not stream", c.API)
	}
	return errors.Join(errs...)
}

// checkServer checks what says where the server is.
func (c *Config) checkServer() error {
	if c.URL == "" {
		return errors.New("the URL is empty, must be that of an OpenAI-compatible server, such as http://localhost:8000/v1")
	}
	return nil
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
	if c.RecordsPath != "" { // before the server is asked for anything
		if err := record.CheckPath(c.RecordsPath); err != nil {
			return nil, err
		}
	}
	clock := sleep.NewClock()
	pool, err := newPool(&c, clock)
	if err != nil {
		return nil, err
	}
	defer pool.Close()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	r := &runner{config: c, clock: clock, pool: pool, stop: stop}
	result := &report.Result{
		Schema: report.Schema, ToolVersion: c.Version, Started: time.Now(), TargetURL: c.URL,
		Seed: c.Seed, Machine: report.ThisMachine(), Points: []summary.Point{},
	}
	if err := r.meet(ctx); err != nil {
		return nil, err
	}
	result.Model = r.server.model
	if c.RecordsPath != "" {
		if r.records, err = record.Create(c.RecordsPath); err != nil {
			return nil, err
		}
		defer r.records.Discard()
	}
	for i := range c.Loads {
		if c.BeforeLoad != nil {
			if err := c.BeforeLoad(ctx, i); err != nil {
				return nil, err
			}
		}
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
	if r.records != nil {
		if err = r.records.Close(); err != nil {
			r.note("The records are not complete: %v.", err)
		}
	}
	result.Notes = r.server.notes
	return result, err
}

func newPool(c *Config, clock sleep.Clock) (*transport.Pool, error) {
	target, err := transport.ParseTarget(c.URL)
	if err != nil {
		return nil, err
	}
	return transport.New(transport.Config{
		Target: target, Now: clock.Now, TLS: c.TLS, Proxy: c.Proxy, Timestamps: c.Timestamps,
		ConnectTimeout: c.ConnectTimeout,
	}), nil
}

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
