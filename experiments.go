package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"llmsim-bench/experiments"
)

const (
	flagResults = "results"
	flagReplace = "replace"
	flagVirtual = "virtual"
	flagLive    = "live"
	flagWrite   = "write"
	flagKeep    = "keep"
	flagDelays  = "delays"
)

func experimentsCommand() *cli.Command {
	return &cli.Command{
		Name:  "experiments",
		Usage: "predict what the simulator does, run it, and compare",
		Description: `Each experiment has a definition, a prediction that is written down before it is
run, and a result. Without an ID, all are meant. docs/experiments.md says more.

EXAMPLES:
   llmsim-bench experiments list
   llmsim-bench experiments predict E3
   llmsim-bench experiments run E3
   llmsim-bench experiments diff E3
   llmsim-bench experiments run --quick`,
		Subcommands: []*cli.Command{
			{
				Name: "list", Usage: "say which experiments there are", ArgsUsage: "[E1 …]",
				Flags: []cli.Flag{resultsFlag()}, Action: withExperiments(listExperiments),
			},
			{
				Name: "predict", Usage: "write the predictions that are missing", ArgsUsage: "[E1 …]",
				Flags: []cli.Flag{
					resultsFlag(), delaysFlag(),
					&cli.BoolFlag{Name: flagReplace, Usage: "write those anew that are there; their results count no more"},
				},
				Action: withExperiments(func(c *cli.Context, s *experiments.Session, all []experiments.Experiment) error {
					return s.Predict(c.Context, all, c.Bool(flagReplace))
				}),
			},
			{
				Name: "run", Usage: "run experiments that have a prediction", ArgsUsage: "[E1 …]",
				Flags: []cli.Flag{
					resultsFlag(), delaysFlag(),
					&cli.BoolFlag{Name: flagQuick, Usage: "short variants, predicted now: E1, E3 and E7 live, the rest in virtual time; --results is only read"},
					&cli.BoolFlag{Name: flagVirtual, Usage: "with --quick: all in virtual time"},
					&cli.BoolFlag{Name: flagLive, Usage: "with --quick: all on a live simulator"},
					&cli.StringFlag{Name: flagKeep, Usage: "with --quick: keep predictions and results in this `FOLDER`"},
				},
				Action: withExperiments(runExperiments),
			},
			{
				Name: "diff", Usage: "set what was predicted beside what came out", ArgsUsage: "[E1 …]",
				Flags: []cli.Flag{
					resultsFlag(),
					&cli.BoolFlag{Name: flagWrite, Usage: "write the README and the plots of --results as well"},
				},
				Action: withExperiments(diffExperiments),
			},
		},
	}
}

func resultsFlag() cli.Flag {
	return &cli.StringFlag{Name: flagResults, Value: "results", Usage: "`FOLDER` of predictions and results"}
}

func delaysFlag() cli.Flag {
	return &cli.StringFlag{
		Name:  flagDelays,
		Usage: "predict with the delays in this `FILE`, a prediction.json of the same machine, instead of measuring them",
	}
}

// withExperiments gives an action the experiments that the arguments name.
func withExperiments(do func(*cli.Context, *experiments.Session, []experiments.Experiment) error) cli.ActionFunc {
	return func(c *cli.Context) error {
		all, err := experiments.Select(c.Args().Slice())
		if err != nil {
			return err
		}
		s := &experiments.Session{
			Store: experiments.Store{Dir: c.String(flagResults)}, Start: startForExperiment, Version: version,
			Out: c.App.Writer, Progress: os.Stderr,
		}
		if path := c.String(flagDelays); path != "" {
			if s.Delays, err = experiments.ReadDelays(path); err != nil {
				return fmt.Errorf("--%s: %w", flagDelays, err)
			}
		}
		return do(c, s, all)
	}
}

// startForExperiment starts a simulator as experiments want it.
func startForExperiment(modelsFile, eventLog string) (url string, stop func(), err error) {
	simulator, err := startSimulator("--"+flagModels, modelsFile, "--"+flagEventLog, eventLog)
	if err != nil {
		return "", nil, err
	}
	return simulator.URL, simulator.Stop, nil
}

func listExperiments(c *cli.Context, s *experiments.Session, all []experiments.Experiment) error {
	return s.List(all)
}

func runExperiments(c *cli.Context, s *experiments.Session, all []experiments.Experiment) error {
	if !c.Bool(flagQuick) {
		for _, flag := range []string{flagVirtual, flagLive, flagKeep, flagDelays} {
			if c.IsSet(flag) {
				return fmt.Errorf("--%s is possible with --%s only", flag, flagQuick)
			}
		}
		return s.Run(c.Context, all)
	}
	mode := experiments.AsDefined
	switch {
	case c.Bool(flagVirtual) && c.Bool(flagLive):
		return fmt.Errorf("give one of --%s and --%s", flagVirtual, flagLive)
	case c.Bool(flagVirtual):
		mode = experiments.AllVirtual
	case c.Bool(flagLive):
		mode = experiments.AllLive
	}
	unexplained, err := s.Quick(c.Context, all, c.String(flagKeep), mode)
	return errors.Join(err, unexplainedError(unexplained))
}

func diffExperiments(c *cli.Context, s *experiments.Session, all []experiments.Experiment) error {
	unexplained, err := s.Diff(all)
	if err == nil && c.Bool(flagWrite) {
		err = s.WriteReadme()
	}
	return errors.Join(err, unexplainedError(unexplained))
}

func unexplainedError(n int) error {
	if n == 0 {
		return nil
	}
	return fmt.Errorf("%d predictions failed without an explanation", n)
}
