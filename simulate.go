package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"llmsim-bench/bench"
	"llmsim-bench/experiments/simulate"
	"llmsim-bench/internal/wholefile"
	"llmsim-bench/simserver/config"
)

const (
	flagReplay   = "replay"
	flagStepsOut = "steps-out"
)

func simulateCommand() *cli.Command {
	return &cli.Command{
		Name:  "simulate",
		Usage: "answer a workload in virtual time, without a server",
		Description: `Runs a scheduler model's engine on the arrivals that sweep would send, as fast as
it computes, and prints the simulated values. The same flags give the same bytes.

EXAMPLES:
   llmsim-bench simulate --rates 10,40,80
   llmsim-bench simulate --concurrency 1,16,64 --prompt-tokens 128 --output-tokens 200
   llmsim-bench simulate --rates 10 --duration 1h --steps-out steps.jsonl --out result.json
   llmsim-bench simulate --trace requests.csv
   llmsim-bench serve --event-log events.jsonl   (then, after a run:)
   llmsim-bench simulate --replay events.jsonl

` + exitCodesHelp,
		Flags: append(append([]cli.Flag{
			&cli.StringFlag{Name: flagRates, Value: "10,40,75,100", Usage: "requests a second, separated by commas, one after the other"},
			&cli.StringFlag{Name: flagConcurrency, Usage: "instead: requests at once (closed loop), separated by commas"},
			modelsFlag(),
			&cli.StringFlag{Name: flagModel, Usage: "model `NAME`; may be left out where one model has a scheduler"},
			&cli.StringFlag{
				Name:  flagReplay,
				Usage: "instead: repeat the run that serve --event-log wrote to this `FILE`, and compare",
			},
			&cli.StringFlag{Name: flagStepsOut, Usage: "write every step to this JSON Lines `FILE`"},
		}, changingLoadFlags()...), workloadFlags()...),
		Action: runSimulate,
	}
}

func runSimulate(c *cli.Context) error {
	if err := noArguments(c); err != nil {
		return err
	}
	models, err := readModels(c)
	if err != nil {
		return err
	}
	if path := c.String(flagReplay); path != "" {
		return replay(c, path, models)
	}
	w, err := simulatedWorkload(c)
	if err != nil {
		return err
	}
	slo, err := parseSLO(c)
	if err != nil {
		return err
	}
	if err := checkOutputs(c, flagOut, flagStepsOut); err != nil {
		return err
	}
	model, err := schedulerModel(models, c.String(flagModel))
	if err != nil {
		return err
	}
	s := simulate.Config{Workload: w, Model: model, SLO: slo, Version: version}
	var trace *wholefile.File
	if path := c.String(flagStepsOut); path != "" {
		if trace, err = wholefile.Create(path); err != nil {
			return fmt.Errorf("--%s: %w", flagStepsOut, err)
		}
		defer trace.Discard()
		s.Trace = trace
	}
	result, err := simulate.Run(s)
	if err != nil {
		return err
	}
	if trace != nil {
		if err := trace.Commit(); err != nil {
			return fmt.Errorf("--%s: %w", flagStepsOut, err)
		}
	}
	if err := show(c, result); err != nil {
		return err
	}
	return verdict(result, -1)
}

// replay repeats a live run and fails unless it comes out the same.
func replay(c *cli.Context, path string, models *config.Config) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("--%s: %w", flagReplay, err)
	}
	defer file.Close()
	all, err := simulate.Replay(file, models)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	differences := 0
	for _, r := range all {
		differences += r.Differences
		if c.Bool(flagQuiet) {
			continue
		}
		fmt.Fprintf(c.App.Writer, "%s, replica %d: %d requests (%d aborted), %d tokens, %d steps, %d preemptions: %d of %d equal the live run to the nanosecond\n",
			r.Model, r.Replica, r.Requests, r.Aborted, r.Tokens, r.Steps, r.Preemptions, r.Requests-r.Differences, r.Requests)
		for _, example := range r.Examples {
			fmt.Fprintln(c.App.Writer, "  "+example)
		}
	}
	if differences > 0 {
		return cli.Exit(fmt.Sprintf("%d requests differ from the live run", differences), exitError)
	}
	return nil
}

// simulatedWorkload reads the loads and what comes with them.
func simulatedWorkload(c *cli.Context) (bench.Workload, error) {
	kinds := []string{flagRates, flagConcurrency, flagRamp, flagSteps, flagBurst, flagTrace}
	kind := flagRates
	if slices.ContainsFunc(kinds, c.IsSet) {
		var err error
		if kind, err = oneOf(c, kinds...); err != nil {
			return bench.Workload{}, err
		}
	}
	var loads []bench.Load
	var err error
	switch kind {
	case flagRates:
		loads, err = parseRates(c, c.String(flagRates))
	case flagConcurrency:
		loads, err = parseConcurrency(c)
	default:
		return oneLoad(c, kind)
	}
	if err != nil {
		return bench.Workload{}, err
	}
	return workloadOf(c, loads)
}

// parseConcurrency reads "1,16,64".
func parseConcurrency(c *cli.Context) ([]bench.Load, error) {
	var loads []bench.Load
	for _, field := range strings.Split(c.String(flagConcurrency), ",") {
		n, err := strconv.Atoi(strings.TrimSpace(field))
		if err != nil || n < 1 {
			return nil, fmt.Errorf("--%s %q: %q is not possible, give numbers of 1 or more, such as 1,16,64",
				flagConcurrency, c.String(flagConcurrency), field)
		}
		loads = append(loads, bench.Users(n))
	}
	return loads, nil
}

// schedulerModel chooses the model to simulate.
func schedulerModel(models *config.Config, name string) (config.Model, error) {
	var possible []config.Model
	var names []string
	for _, m := range models.Models {
		if m.Engine == config.EngineScheduler {
			possible = append(possible, m)
			names = append(names, m.Name)
		}
		if m.Name == name {
			return m, nil // an engine without steps is refused where it is built
		}
	}
	switch {
	case name != "":
		return config.Model{}, fmt.Errorf("there is no model %q; with a scheduler there are: %s", name, strings.Join(names, ", "))
	case len(possible) == 1:
		return possible[0], nil
	case len(possible) == 0:
		return config.Model{}, fmt.Errorf("no model has engine %q, which alone can be simulated in virtual time", config.EngineScheduler)
	}
	return config.Model{}, fmt.Errorf("name one of the models with a scheduler with --%s: %s", flagModel, strings.Join(names, ", "))
}
