package main

import "github.com/urfave/cli/v2"

const flagRates = "rates"

func sweepCommand() *cli.Command {
	return &cli.Command{
		Name:  "sweep",
		Usage: "measure a server at several request rates",
		Description: `Sends requests at Poisson arrivals, whether or not earlier ones have ended, and
measures every latency from the moment the request was due. Prints one row a rate.

EXAMPLES:
   llmsim-bench sweep
   llmsim-bench sweep --url http://localhost:8000/v1 --rates 1,2,4 --duration 60s
   llmsim-bench sweep --rates 20 --slo ttft_p99=50ms --out result.json

` + exitCodesHelp,
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: flagRates, Value: "10,40,75,100", Usage: "requests a second, separated by commas, one after the other"},
		}, loadFlags()...),
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			loads, err := parseRates(c, c.String(flagRates))
			if err != nil {
				return err
			}
			w, err := workloadOf(c, loads)
			if err != nil {
				return err
			}
			return benchmark(c, w)
		},
	}
}
