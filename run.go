package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"llmsim-bench/bench"
)

const (
	flagRate        = "rate"
	flagConcurrency = "concurrency"
)

func runCommand() *cli.Command {
	return &cli.Command{
		Name:  "run",
		Usage: "measure a server at one load",
		Description: `Like sweep, for one load: an open loop of --rate requests a second, or a closed
loop of --concurrency users that each send the next request when the last ended.

EXAMPLES:
   llmsim-bench run --rate 20
   llmsim-bench run --url http://localhost:8000/v1 --concurrency 8 --duration 60s

` + exitCodesHelp,
		Flags: append([]cli.Flag{
			&cli.Float64Flag{Name: flagRate, Usage: "requests a second (open loop)"},
			&cli.IntFlag{Name: flagConcurrency, Usage: "requests at once (closed loop)"},
		}, loadFlags()...),
		Action: func(c *cli.Context) error {
			if c.IsSet(flagRate) == c.IsSet(flagConcurrency) {
				return fmt.Errorf("give either --%s or --%s", flagRate, flagConcurrency)
			}
			if c.IsSet(flagConcurrency) && c.Int(flagConcurrency) < 1 {
				return fmt.Errorf("--%s %d is not possible, must be 1 or more", flagConcurrency, c.Int(flagConcurrency))
			}
			return benchmark(c, []bench.Load{{Rate: c.Float64(flagRate), Concurrency: c.Int(flagConcurrency)}})
		},
	}
}
