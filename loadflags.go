package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"llmsim-bench/bench"
	"llmsim-bench/bench/report"
	"llmsim-bench/bench/summary"
)

// The flags that every command that makes load has.
const (
	flagURL          = "url"
	flagModel        = "model"
	flagAPIKey       = "api-key"
	flagDuration     = "duration"
	flagWarmup       = "warmup"
	flagPromptTokens = "prompt-tokens"
	flagOutputTokens = "output-tokens"
	flagMaxInFlight  = "max-in-flight"
	flagTimeout      = "timeout"
	flagSeed         = "seed"
	flagIgnoreEOS    = "ignore-eos"
	flagOut          = "out"
	flagRecords      = "records"
	flagQuiet        = "quiet"
	flagSLO          = "slo"
	flagMaxFailures  = "max-failures"
)

// envURL stands in for --url. It is not one of the flag's EnvVars, for which an
// empty variable would be as good as --url "".
const envURL = "LLMSIM_BENCH_URL"

// defaultModel is what is benchmarked on the bundled simulator.
const defaultModel = "qwen-mock-batched"

// loadFlags are the flags of commands that put load on a server.
func loadFlags() []cli.Flag {
	return append([]cli.Flag{
		&cli.StringFlag{
			Name:  flagURL,
			Usage: "base `URL` of the server, such as http://host:8000/v1; without it the bundled simulator is started [$" + envURL + "]",
		},
		&cli.StringFlag{Name: flagModel, Usage: "model `NAME`; may be left out where the server has one (bundled simulator: " + defaultModel + ")"},
		&cli.StringFlag{Name: flagAPIKey, EnvVars: []string{"OPENAI_API_KEY"}, Usage: "`KEY` sent as a bearer token to --url"},
		&cli.IntFlag{Name: flagMaxInFlight, Usage: "most requests running at once; waiting counts as latency (0: no cap)"},
		&cli.DurationFlag{Name: flagTimeout, Value: 5 * time.Minute, Usage: "most time for one request (0: no bound)"},
		&cli.BoolFlag{Name: flagIgnoreEOS, Usage: "ask for exactly --output-tokens (ignore_eos); servers known to take it get it anyway"},
		&cli.Int64Flag{Name: flagMaxFailures, Value: -1, DefaultText: "all of them", Usage: "failed requests above this `N` give exit code 3"},
		&cli.StringFlag{Name: flagRecords, Usage: "write a record a request to this JSON Lines `FILE`"},
	}, workloadFlags()...)
}

// workloadFlags say what is asked and what is shown; they hold in virtual time too.
func workloadFlags() []cli.Flag {
	return []cli.Flag{
		&cli.DurationFlag{Name: flagDuration, Value: 10 * time.Second, Usage: "how long each load is measured"},
		&cli.DurationFlag{Name: flagWarmup, Value: 2 * time.Second, Usage: "how long each load runs before it is measured"},
		&cli.IntFlag{Name: flagPromptTokens, Value: 512, Usage: "tokens of each prompt, exactly, by the server's count"},
		&cli.IntFlag{Name: flagOutputTokens, Value: 64, Usage: "tokens asked for in each answer (max_tokens)"},
		&cli.Uint64Flag{Name: flagSeed, Value: 1, Usage: "draws arrivals and prompts"},
		&cli.StringSliceFlag{Name: flagSLO, Usage: "objective such as ttft_p99=200ms; may be repeated or separated by commas"},
		&cli.StringFlag{Name: flagOut, Usage: "write the result to this JSON `FILE`"},
		&cli.BoolFlag{Name: flagQuiet, Usage: "print no table and no progress"},
	}
}

// parseSLO reads --slo; nil where it is not given.
func parseSLO(c *cli.Context) (summary.SLO, error) {
	if !c.IsSet(flagSLO) {
		return nil, nil
	}
	slo, err := summary.ParseSLO(strings.Join(c.StringSlice(flagSLO), ","))
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", flagSLO, err)
	}
	return slo, nil
}

// workloadOf reads what workloadFlags say.
func workloadOf(c *cli.Context, loads []bench.Load) bench.Workload {
	return bench.Workload{
		Loads: loads, Duration: c.Duration(flagDuration), Warmup: c.Duration(flagWarmup),
		PromptTokens: c.Int(flagPromptTokens), OutputTokens: c.Int(flagOutputTokens), Seed: c.Uint64(flagSeed),
	}
}

// benchmark puts the loads on the server that the flags name, or on a simulator
// of its own, and shows the result.
func benchmark(c *cli.Context, loads []bench.Load) error {
	if c.Args().Present() {
		return fmt.Errorf("%s takes no arguments, got %q", c.Command.Name, c.Args().First())
	}
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
	url := c.String(flagURL)
	if !c.IsSet(flagURL) {
		url = os.Getenv(envURL)
	}
	_, terminal := report.Terminal(os.Stderr)
	progress := report.NewProgress(os.Stderr, terminal && !c.Bool(flagQuiet))
	config := bench.Config{
		URL: url, Model: c.String(flagModel), APIKey: c.String(flagAPIKey), Workload: workloadOf(c, loads),
		MaxInFlight: c.Int(flagMaxInFlight), Timeout: c.Duration(flagTimeout),
		IgnoreEOS: c.Bool(flagIgnoreEOS), SLO: slo, RecordsPath: c.String(flagRecords),
		Version: version, Progress: progress.Update,
	}
	if config.URL == "" {
		if c.IsSet(flagURL) {
			return fmt.Errorf("--%s is empty", flagURL)
		}
		simulator, err := startSimulator()
		if err != nil {
			return err
		}
		defer simulator.stop()
		config.URL, config.APIKey = simulator.url, ""
		if config.Model == "" {
			config.Model = defaultModel
		}
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

// checkOutputs finds out, before anything is measured, whether the files that the
// flags name can be made.
func checkOutputs(c *cli.Context, flags ...string) error {
	for _, name := range flags {
		path := c.String(name)
		if path == "" {
			continue
		}
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
		failed += p.Accounting.Failed
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
	case maxFailures < 0 && failed > 0 && ok == 0:
		return cli.Exit("every request failed", exitFailures)
	case missed:
		return cli.Exit("an objective was missed", exitSLO)
	}
	return nil
}

// parseRates reads "10,20,40".
func parseRates(text string) ([]bench.Load, error) {
	var loads []bench.Load
	for _, field := range strings.Split(text, ",") {
		rate, err := strconv.ParseFloat(strings.TrimSpace(field), 64)
		if err != nil {
			return nil, fmt.Errorf("--%s %q: %q is no number; give requests a second, such as 10,20,40", flagRates, text, field)
		}
		loads = append(loads, bench.Load{Rate: rate})
	}
	return loads, nil
}
