package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"llmsim-bench/bench"
	"llmsim-bench/bench/report"
	"llmsim-bench/bench/selftest"
	"llmsim-bench/internal/wholefile"
)

// benchmark puts the loads on the server that the flags name, or on a simulator
// of its own, and shows the result.
func benchmark(c *cli.Context, w bench.Workload) error {
	slo, err := parseSLO(c)
	if err != nil {
		return err
	}
	if n := c.Int64(flagMaxFailures); n < 0 && c.IsSet(flagMaxFailures) {
		return fmt.Errorf("--%s %d is negative, must be 0 or more", flagMaxFailures, n)
	}
	if err := checkOutputs(c, flagOut, flagRecords); err != nil {
		return err
	}
	config, err := clientConfig(c)
	if err != nil {
		return err
	}
	if err := w.Check(); err != nil {
		return err
	}
	_, terminal := report.Terminal(os.Stderr)
	progress := report.NewProgress(os.Stderr, terminal && !c.Bool(flagQuiet))
	config.Workload, config.SLO, config.Progress = w, slo, progress.Update
	stop, err := orSimulator(c, &config)
	if err != nil {
		return err
	}
	defer stop()
	for _, warning := range beyondSelftest(&w) {
		fmt.Fprintln(os.Stderr, "llmsim-bench: warning:", warning)
	}
	result, err := bench.Run(c.Context, config)
	progress.Clear()
	switch {
	case result == nil && errors.Is(err, context.Canceled):
		return errors.New("stopped before anything was measured")
	case result == nil:
		return err
	}
	if err := errors.Join(err, show(c, result)); err != nil {
		return err
	}
	return verdict(result, c.Int64(flagMaxFailures))
}

// orSimulator starts a simulator where the flags name no server. stop ends it.
func orSimulator(c *cli.Context, config *bench.Config) (stop func(), err error) {
	if config.URL != "" {
		return func() {}, nil
	}
	if c.IsSet(flagURL) {
		return nil, fmt.Errorf("--%s is empty", flagURL)
	}
	for _, flag := range []string{flagCA, flagInsecure, flagProxy} {
		if c.IsSet(flag) {
			return nil, fmt.Errorf("--%s is for a server that --%s names; the bundled simulator is reached without it", flag, flagURL)
		}
	}
	simulator, err := startSimulator()
	if err != nil {
		return nil, err
	}
	config.URL, config.APIKey, config.Proxy = simulator.URL, "", nil
	if config.Model == "" {
		config.Model = defaultModel
	}
	return simulator.Stop, nil
}

// noArguments refuses what a command would not look at.
func noArguments(c *cli.Context) error {
	if c.Args().Present() {
		return fmt.Errorf("%s takes no arguments, got %q", c.Command.Name, c.Args().First())
	}
	return nil
}

// checkOutputs finds out, before anything is measured, whether the files that the
// flags name can be made.
func checkOutputs(c *cli.Context, flags ...string) error {
	seen := make(map[string]string)
	for _, name := range flags {
		path := c.String(name)
		if path == "" {
			continue
		}
		full, err := filepath.Abs(path)
		if err != nil {
			return fmt.Errorf("--%s %s: %w", name, path, err)
		}
		if other := cmp.Or(seen[full], seen[full+wholefile.Suffix]); other != "" {
			return fmt.Errorf("--%s and --%s name the same file, %s", other, name, path)
		}
		seen[full], seen[full+wholefile.Suffix] = name, name
		if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
			return fmt.Errorf("--%s %s is no file that can be replaced; name a new file or a regular one", name, path)
		}
		probe, err := os.CreateTemp(filepath.Dir(path), ".llmsim-bench-*.tmp")
		if err != nil {
			return fmt.Errorf("--%s %s can't be made: %w", name, path, err)
		}
		if err := errors.Join(probe.Close(), os.Remove(probe.Name())); err != nil {
			return fmt.Errorf("--%s %s: %w", name, path, err)
		}
	}
	return nil
}

// show writes the result where the flags say. A file that fails must not take
// the table with it.
func show(c *cli.Context, result *report.Result) error {
	var errs []error
	if path := c.String(flagOut); path != "" {
		errs = append(errs, result.WriteJSON(path))
	}
	if !c.Bool(flagQuiet) {
		width := 0
		if out, ok := c.App.Writer.(*os.File); ok {
			width, _ = report.Terminal(out)
		}
		errs = append(errs, report.WriteConsole(c.App.Writer, result, width))
	}
	return errors.Join(errs...)
}

// verdict turns a result into an exit code: what makes the numbers worthless
// comes before what they say.
func verdict(result *report.Result, maxFailures int64) error {
	var ok, failed int64
	var limited, missed bool
	for _, p := range result.Points {
		ok += p.Accounting.OK
		failed += p.Accounting.Failed + p.Accounting.CutOff()
		limited = limited || p.Health.Verdict == "limited"
		for _, o := range p.SLO {
			missed = missed || !o.Met
		}
	}
	switch {
	case result.Interrupted:
		return cli.Exit("stopped early; the result holds what was measured until then", exitError)
	case ok == 0 && failed == 0:
		return cli.Exit("nothing was measured: no request was answered and none failed; measure for longer or at a higher load", exitError)
	case limited:
		return cli.Exit("the client was the limit: don't trust these numbers", exitLimited)
	case maxFailures >= 0 && failed > maxFailures:
		return cli.Exit(fmt.Sprintf("%d requests failed, --%s allows %d", failed, flagMaxFailures, maxFailures), exitFailures)
	case maxFailures < 0 && failed > (ok+failed)/10:
		return cli.Exit(fmt.Sprintf("%d of %d requests failed, more than a tenth; --%s says how many may", failed, ok+failed, flagMaxFailures), exitFailures)
	case missed:
		return cli.Exit("an objective was missed", exitSLO)
	}
	return nil
}

// beyondSelftest warns of loads above what the self-test of this machine, if
// there was one, found it to sustain.
func beyondSelftest(w *bench.Workload) []string {
	found, ok := selftest.Load(selftestKey())
	if !ok {
		return nil
	}
	var warnings []string
	for _, l := range w.Loads {
		rps := w.PeakRPS(l)
		for _, text := range found.Warnings(rps, rps*w.OutputTokens(l), l.Concurrency) {
			warnings = append(warnings, fmt.Sprintf("%s: %s", l, text))
		}
	}
	return warnings
}
