package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"llmsim-bench/bench"
	"llmsim-bench/bench/arrival"
	"llmsim-bench/bench/workload"
)

// The flags of which one says what the load is.
const (
	flagRate        = "rate"
	flagConcurrency = "concurrency"
	flagRamp        = "ramp"
	flagSteps       = "steps"
	flagBurst       = "burst"
	flagTrace       = "trace"
)

const (
	flagThink      = "think"
	flagTraceSpeed = "trace-speed"
)

func runCommand() *cli.Command {
	return &cli.Command{
		Name:  "run",
		Usage: "measure a server at one load",
		Description: `Like sweep, for one load: an open loop of --rate requests a second or of arrivals
that change (--ramp, --steps, --burst, --trace), or a closed loop of --concurrency
users that each send the next request when the last ended.

A burst, steps and a trace are measured from their first request on (no warm-up), and
steps and a trace until their end, unless --warmup and --duration say otherwise.

EXAMPLES:
   llmsim-bench run --rate 20 --arrival gamma:0.25
   llmsim-bench run --url http://localhost:8000/v1 --concurrency 8 --duration 60s
   llmsim-bench run --steps 10@20s,80@10s,10@20s
   llmsim-bench run --trace requests.csv --trace-speed 2

` + exitCodesHelp,
		Flags: append(append([]cli.Flag{
			&cli.Float64Flag{Name: flagRate, Usage: "requests a second (open loop)"},
			&cli.IntFlag{Name: flagConcurrency, Usage: "requests at once (closed loop)"},
			&cli.DurationFlag{Name: flagThink, Usage: "how long each user of a closed loop waits before the next request"},
		}, changingLoadFlags()...), loadFlags()...),
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			w, err := runWorkload(c)
			if err != nil {
				return err
			}
			return benchmark(c, w)
		},
	}
}

// changingLoadFlags say a load that has no one rate.
func changingLoadFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: flagRamp, Usage: "requests a second at the start and at the end: `FROM..TO`"},
		&cli.StringFlag{Name: flagSteps, Usage: "requests a second and for how long, one after the other: `RATE@TIME,...`"},
		&cli.IntFlag{Name: flagBurst, Usage: "this `NUMBER` of requests at once"},
		&cli.StringFlag{Name: flagTrace, Usage: "requests as recorded in this `FILE` (docs/bench.md names the forms)"},
		&cli.Float64Flag{Name: flagTraceSpeed, Value: 1, Usage: "divides the times of --trace"},
	}
}

// runWorkload reads the one load and what comes with it.
func runWorkload(c *cli.Context) (bench.Workload, error) {
	kind, err := oneOf(c, flagRate, flagConcurrency, flagRamp, flagSteps, flagBurst, flagTrace)
	if err != nil {
		return bench.Workload{}, err
	}
	return oneLoad(c, kind)
}

// oneOf returns which one of some flags is given.
func oneOf(c *cli.Context, flags ...string) (string, error) {
	given := slices.DeleteFunc(slices.Clone(flags), func(flag string) bool { return !c.IsSet(flag) })
	if len(given) != 1 {
		return "", fmt.Errorf("give one of --%s", strings.Join(flags, ", --"))
	}
	return given[0], nil
}

// oneLoad reads the load that one of the flags says, and what comes with it.
func oneLoad(c *cli.Context, kind string) (bench.Workload, error) {
	for _, only := range []struct{ flag, with string }{
		{flagThink, flagConcurrency}, {flagTraceSpeed, flagTrace}, {flagArrival, flagRate},
	} {
		if c.IsSet(only.flag) && kind != only.with {
			return bench.Workload{}, fmt.Errorf("--%s is possible with --%s only", only.flag, only.with)
		}
	}
	l, err := loadOf(c, kind)
	if err != nil {
		return bench.Workload{}, err
	}
	w, err := workloadOf(c, []bench.Load{l})
	if l.Trace != nil {
		w.Shape = workload.Shape{} // the trace says what requests look like
	}
	if length := l.Arrivals.Length(); length > 0 {
		if !c.IsSet(flagWarmup) {
			w.Warmup = 0
		}
		if !c.IsSet(flagDuration) && kind != flagBurst {
			if w.Duration = length - w.Warmup; w.Duration <= 0 {
				return w, fmt.Errorf("--%s lasts %v, so that a --%s of %v leaves nothing to measure", kind, length, flagWarmup, w.Warmup)
			}
		}
	}
	return w, err
}

// loadOf reads the load that one of the flags says.
func loadOf(c *cli.Context, kind string) (bench.Load, error) {
	var l bench.Load
	var err error
	switch kind {
	case flagRate:
		if l.Arrivals, err = arrival.ParseArrival(c.String(flagArrival)); err != nil {
			return l, fmt.Errorf("--%s: %w", flagArrival, err)
		}
		l.Arrivals.Rate = c.Float64(flagRate)
	case flagConcurrency:
		l.Concurrency, l.Think = c.Int(flagConcurrency), c.Duration(flagThink)
		if l.Concurrency < 1 {
			return l, fmt.Errorf("--%s %d is not possible, must be 1 or more", flagConcurrency, l.Concurrency)
		}
	case flagRamp:
		l.Arrivals, err = arrival.ParseRamp(c.String(flagRamp))
	case flagSteps:
		l.Arrivals, err = arrival.ParseSteps(c.String(flagSteps))
	case flagBurst:
		l.Arrivals = arrival.Process{Kind: arrival.KindBurst, Requests: c.Int(flagBurst)}
	case flagTrace:
		l, err = traceLoad(c)
	}
	if err != nil {
		return l, fmt.Errorf("--%s: %w", kind, err)
	}
	return l, nil
}

// traceLoad reads the requests of a trace; their lengths are the trace's own.
func traceLoad(c *cli.Context) (bench.Load, error) {
	for _, flag := range []string{flagPromptTokens, flagOutputTokens, flagSharedPrefix, flagPrefixGroups} {
		if c.IsSet(flag) {
			return bench.Load{}, fmt.Errorf("the trace says what --%s would", flag)
		}
	}
	file, err := os.Open(c.String(flagTrace))
	if err != nil {
		return bench.Load{}, err
	}
	options := workload.TraceOptions{Speed: c.Float64(flagTraceSpeed)}
	if options.Speed <= 0 {
		return bench.Load{}, fmt.Errorf("--%s %v is not possible, must be above 0", flagTraceSpeed, options.Speed)
	}
	until := options.Speed * float64(c.Duration(flagWarmup)+c.Duration(flagDuration))
	if c.IsSet(flagDuration) && until > 0 && until < math.MaxInt64 {
		// Only what will be sent needs to be read into memory.
		options.Until = time.Duration(until)
	}
	recording, err := workload.ReadTrace(file, options)
	if err = errors.Join(err, file.Close()); err != nil {
		return bench.Load{}, err
	}
	return bench.Load{
		Arrivals: arrival.Process{Kind: arrival.KindTrace, Times: recording.Times()},
		Trace:    recording,
	}, nil
}
