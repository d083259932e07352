package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/urfave/cli/v2"

	"llmsim-bench/internal/child"
	"llmsim-bench/simserver"
	"llmsim-bench/simserver/config"
)

const (
	flagListen     = "listen"
	flagModels     = "models"
	flagResponses  = "responses"
	flagDrain      = "drain"
	flagMaxBody    = "max-body-bytes"
	flagEventLog   = "event-log"
	flagUntilStdin = "until-stdin-closes"
)

func serveCommand() *cli.Command {
	return &cli.Command{
		Name:  "serve",
		Usage: "run the simulator: an OpenAI-compatible server without a model",
		Description: `Serves the built-in models, or those of a models.yml. SIGTERM or Ctrl-C lets
running answers end (at most --drain) and refuses new requests with 503. SIGHUP
and POST /admin/reload read the file of --responses again.

EXAMPLES:
   llmsim-bench serve
   llmsim-bench serve --listen 0.0.0.0:9000 --models models.yml --responses responses.yml
   curl -N http://127.0.0.1:8080/v1/chat/completions -d '{"model":"sim-fixed",
     "messages":[{"role":"user","content":"hi"}],"max_tokens":8,"stream":true}'
   llmsim-bench serve --upstream https://api.example.com/v1 --record recordings`,
		Flags: append([]cli.Flag{
			&cli.StringFlag{
				Name: flagListen, Value: "127.0.0.1:8080", EnvVars: []string{"LLMSIM_LISTEN"},
				Usage: "`HOST:PORT` to listen on; port 0 takes a free one",
			},
			modelsFlag(),
			&cli.StringFlag{
				Name: flagResponses, EnvVars: []string{"LLMSIM_RESPONSES"},
				Usage: "responses.yml `FILE`: what the models say; without one they answer with filler",
			},
			&cli.DurationFlag{
				Name: flagDrain, Value: 30 * time.Second, EnvVars: []string{"LLMSIM_DRAIN"},
				Usage: "how long running answers may take to end on SIGTERM",
			},
			&cli.IntFlag{
				Name: flagMaxBody, Value: 4 << 20, EnvVars: []string{"LLMSIM_MAX_BODY_BYTES"},
				Usage: "largest request body accepted, in `BYTES`",
			},
			&cli.StringFlag{
				Name:  flagEventLog,
				Usage: "record what the scheduler engines act on in this `FILE`, for simulate --replay",
			},
			&cli.BoolFlag{
				Name:  flagUntilStdin,
				Usage: "stop at once when standard input closes, so that a parent process takes the server with it",
			},
		}, recordFlags()...),
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			if c.Duration(flagDrain) < 0 {
				return fmt.Errorf("--%s %v is negative", flagDrain, c.Duration(flagDrain))
			}
			if c.Int(flagMaxBody) < 1 {
				return fmt.Errorf("--%s %d, must be 1 or more", flagMaxBody, c.Int(flagMaxBody))
			}
			if records(c) {
				return recordExchanges(c)
			}
			return serve(c)
		},
	}
}

func modelsFlag() cli.Flag {
	return &cli.StringFlag{
		Name: flagModels, EnvVars: []string{"LLMSIM_MODELS"},
		Usage: "models.yml `FILE`; without one there are the built-in models",
	}
}

// readModels reads what modelsFlag says.
func readModels(c *cli.Context) (*config.Config, error) {
	if path := c.String(flagModels); path != "" {
		return config.Load(path)
	}
	return config.Default(), nil
}

// readResponses reads what flagResponses says, nil for filler, and prints what is
// hardly meant.
func readResponses(c *cli.Context) (*config.Responses, error) {
	path := c.String(flagResponses)
	if path == "" {
		return nil, nil
	}
	responses, err := config.LoadResponses(path)
	if err != nil {
		return nil, err
	}
	warn(c.App.ErrWriter, responses.Warnings)
	return responses, nil
}

func warn(w io.Writer, warnings []string) {
	for _, warning := range warnings {
		fmt.Fprintln(w, "warning:", warning)
	}
}

// reload has the responses file read again and says what came of it.
func reload(w io.Writer, server *simserver.Server) {
	done, err := server.Reload()
	if err != nil {
		fmt.Fprintf(w, "the old responses stay: %v\n", err)
		return
	}
	warn(w, done.Warnings)
	fmt.Fprintf(w, "reloaded: %d responses with %d variants, the default's included\n", done.Responses, done.Variants)
}

func serve(c *cli.Context) error {
	models, err := readModels(c)
	if err != nil {
		return err
	}
	responses, err := readResponses(c)
	if err != nil {
		return err
	}
	server, err := simserver.Listen(c.String(flagListen), models, simserver.Options{
		Version: version, MaxBodyBytes: c.Int(flagMaxBody), EventLog: c.String(flagEventLog),
		Responses: responses, ResponsesFile: c.String(flagResponses),
	})
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	if responses != nil {
		stop := onReloadSignal(func() { reload(c.App.ErrWriter, server) })
		defer stop()
	}
	return untilStopped(c, server)
}

// service is what serve runs.
type service interface {
	URL() string
	Serve() error
	Shutdown(context.Context) error
}

// untilStopped runs a server until a signal, or the end of standard input where that
// is asked for.
func untilStopped(c *cli.Context, server service) error {
	served := make(chan error, 1)
	go func() { served <- server.Serve() }()
	fmt.Fprintln(c.App.Writer, child.Listening+server.URL())

	drain := c.Duration(flagDrain)
	var orphaned <-chan struct{}
	if c.Bool(flagUntilStdin) {
		orphaned = child.Orphaned()
	}
	select {
	case err := <-served:
		return fmt.Errorf("serve: %w", err)
	case <-c.Context.Done():
	case <-orphaned:
		drain = 0 // nobody is left to read the answers
	}
	ctx, cancel := context.WithTimeout(context.Background(), drain)
	defer cancel()
	err := server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) && drain > 0 {
		return fmt.Errorf("serve: answers were still running after %v and were cut", drain)
	}
	return nil
}
