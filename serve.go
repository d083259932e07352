package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"llmsim-bench/internal/child"
	"llmsim-bench/simserver"
	"llmsim-bench/simserver/config"
)

const (
	flagListen     = "listen"
	flagModels     = "models"
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
running answers end (at most --drain) and refuses new requests with 503.

EXAMPLES:
   llmsim-bench serve
   llmsim-bench serve --listen 0.0.0.0:9000 --models models.yml
   curl -N http://127.0.0.1:8080/v1/chat/completions -d '{"model":"sim-fixed",
     "messages":[{"role":"user","content":"hi"}],"max_tokens":8,"stream":true}'`,
		Flags: []cli.Flag{
			&cli.StringFlag{
				Name: flagListen, Value: "127.0.0.1:8080", EnvVars: []string{"LLMSIM_LISTEN"},
				Usage: "`HOST:PORT` to listen on; port 0 takes a free one",
			},
			modelsFlag(),
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
		},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return fmt.Errorf("serve takes no arguments, got %q", c.Args().First())
			}
			if c.Duration(flagDrain) < 0 {
				return fmt.Errorf("--%s %v is negative", flagDrain, c.Duration(flagDrain))
			}
			if c.Int(flagMaxBody) < 1 {
				return fmt.Errorf("--%s %d, must be 1 or more", flagMaxBody, c.Int(flagMaxBody))
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

func serve(c *cli.Context) error {
	models, err := readModels(c)
	if err != nil {
		return err
	}
	server, err := simserver.Listen(c.String(flagListen), models, simserver.Options{
		Version: version, MaxBodyBytes: c.Int(flagMaxBody), EventLog: c.String(flagEventLog),
	})
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
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
	err = server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) && drain > 0 {
		return fmt.Errorf("serve: answers were still running after %v and were cut", drain)
	}
	return nil
}
