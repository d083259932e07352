// Package simtest starts a simulator inside somebody's Go test.
package simtest

import (
	"context"
	"errors"
	"testing"

	"llmsim-bench/simserver"
	"llmsim-bench/simserver/config"
)

// Simulator is a running simulator.
type Simulator struct {
	// URL is the base URL for an OpenAI client, such as http://127.0.0.1:40123/v1.
	URL string
	// Address is the host and port.
	Address string
}

// Option changes how a simulator starts.
type Option func(*options)

type options struct {
	models    string
	responses string
	server    simserver.Options
}

// WithModels serves the models of a models.yml given as text instead of the
// built-in ones.
func WithModels(yaml string) Option { return func(o *options) { o.models = yaml } }

// WithResponses answers from a responses.yml given as text instead of with filler.
func WithResponses(yaml string) Option { return func(o *options) { o.responses = yaml } }

// WithServer sets the server's limits.
func WithServer(server simserver.Options) Option { return func(o *options) { o.server = server } }

// Start runs a simulator on a free loopback port until the test ends. It fails
// the test if that is not possible.
func Start(t testing.TB, opts ...Option) *Simulator {
	t.Helper()
	o := options{}
	for _, apply := range opts {
		apply(&o)
	}
	models := config.Default()
	if o.models != "" {
		var err error
		if models, err = config.Parse("models.yml", []byte(o.models)); err != nil {
			t.Fatalf("simtest: %v", err)
		}
	}
	if o.responses != "" {
		var err error
		if o.server.Responses, err = config.ParseResponses("responses.yml", []byte(o.responses)); err != nil {
			t.Fatalf("simtest: %v", err)
		}
		for _, warning := range o.server.Responses.Warnings {
			t.Logf("simtest: %s", warning)
		}
	}
	server, err := simserver.Listen("127.0.0.1:0", models, o.server)
	if err != nil {
		t.Fatalf("simtest: %v", err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve() }()
	t.Cleanup(func() {
		// The test is over: what still streams is cut.
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := server.Shutdown(ctx); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("simtest: shutdown: %v", err)
		}
		if err := <-served; !errors.Is(err, simserver.ErrClosed) {
			t.Errorf("simtest: serve: %v", err)
		}
	})
	return &Simulator{URL: server.URL(), Address: server.Address()}
}
