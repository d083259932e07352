package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"llmsim-bench/bench"
	"llmsim-bench/bench/workload"
	"llmsim-bench/internal/wholefile"
)

const flagConnections = "connections"

func doctorCommand() *cli.Command {
	return &cli.Command{
		Name:  "doctor",
		Usage: "find out what a server offers, and what this host allows",
		Description: `Sends some two dozen short requests, one after the other, and prints what they show:
which APIs there are, where usage comes, what a stream looks like, whether prompts of a
number of tokens can be made, which extensions are taken, and whether this host has
descriptors and ports enough for --connections. What a measurement would suffer from is
marked "!". The exit code is 0 where the server can be measured at all.

EXAMPLES:
   llmsim-bench doctor --url http://localhost:8000/v1
   llmsim-bench doctor --url https://host/v1 --ca ca.pem --model name --connections 5000`,
		Flags: append(serverFlags(),
			&cli.IntFlag{Name: flagConnections, Value: 1000, Usage: "requests at once that are planned"},
			&cli.IntFlag{Name: flagPromptTokens, Value: 512, Usage: "tokens of the prompt whose length is checked"},
			&cli.StringFlag{Name: flagOut, Usage: "write the findings to this JSON `FILE`"},
			&cli.BoolFlag{Name: flagQuiet, Usage: "print nothing"},
		),
		Action: runDoctor,
	}
}

func runDoctor(c *cli.Context) error {
	if err := noArguments(c); err != nil {
		return err
	}
	if err := checkOutputs(c, flagOut); err != nil {
		return err
	}
	if n := c.Int(flagConnections); n < 1 {
		return fmt.Errorf("--%s %d is not possible, must be 1 or more", flagConnections, n)
	}
	config, err := clientConfig(c)
	if err != nil {
		return err
	}
	config.Shape = workload.Exactly(c.Int(flagPromptTokens), 1)
	if err := config.Shape.Check(); err != nil {
		return err
	}
	stop, err := orSimulator(c, &config)
	if err != nil {
		return err
	}
	defer stop()
	found, err := bench.Diagnose(c.Context, config, int64(c.Int(flagConnections)))
	if err != nil {
		return err
	}
	if path := c.String(flagOut); path != "" {
		if err := wholefile.WriteJSON(path, found); err != nil {
			return err
		}
	}
	if c.Bool(flagQuiet) {
		return nil
	}
	return writeDiagnosis(c.App.Writer, found)
}

func writeDiagnosis(w io.Writer, d *bench.Diagnosis) error {
	fmt.Fprintf(w, "%s at %s\n\n", d.Model, d.URL)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range d.Findings {
		mark := ""
		if f.Warning {
			mark = "!"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", mark, f.Topic, f.Says)
	}
	return table.Flush()
}
