package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"llmsim-bench/bench"
	"llmsim-bench/bench/arrival"
	"llmsim-bench/bench/load"
	"llmsim-bench/bench/openai"
	"llmsim-bench/bench/summary"
	"llmsim-bench/bench/transport"
	"llmsim-bench/bench/workload"
)

// Flags of every command that speaks to a server.
const (
	flagURL            = "url"
	flagModel          = "model"
	flagAPI            = "api"
	flagAPIKey         = "api-key"
	flagCA             = "ca"
	flagInsecure       = "insecure"
	flagProxy          = "proxy"
	flagConnectTimeout = "connect-timeout"
	flagTimeout        = "timeout"
)

// Flags of every command that makes load.
const (
	flagArrival           = "arrival"
	flagDuration          = "duration"
	flagWarmup            = "warmup"
	flagPromptTokens      = "prompt-tokens"
	flagOutputTokens      = "output-tokens"
	flagSharedPrefix      = "shared-prefix"
	flagPrefixGroups      = "prefix-groups"
	flagSeed              = "seed"
	flagMaxInFlight       = "max-in-flight"
	flagHeaderTimeout     = "header-timeout"
	flagFirstTokenTimeout = "first-token-timeout"
	flagProgressTimeout   = "progress-timeout"
	flagCancelAfterTokens = "cancel-after-tokens"
	flagCancelAfter       = "cancel-after"
	flagCancelFraction    = "cancel-fraction"
	flagRetries           = "retries"
	flagTimestamps        = "timestamps"
	flagIgnoreEOS         = "ignore-eos"
	flagOut               = "out"
	flagRecords           = "records"
	flagRecordText        = "record-text"
	flagQuiet             = "quiet"
	flagSLO               = "slo"
	flagMaxFailures       = "max-failures"
)

// envURL stands in for --url. It is not one of the flag's EnvVars, for which an
// empty variable would be as good as --url "".
const envURL = "LLMSIM_BENCH_URL"

// defaultModel is what is benchmarked on the bundled simulator.
const defaultModel = "qwen-mock-batched"

// serverFlags say which server is spoken to, and how.
func serverFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{
			Name:  flagURL,
			Usage: "base `URL` of the server, such as http://host:8000/v1; without it the bundled simulator is started [$" + envURL + "]",
		},
		&cli.StringFlag{Name: flagModel, Usage: "model `NAME`; may be left out where the server has one (bundled simulator: " + defaultModel + ")"},
		&cli.StringFlag{Name: flagAPIKey, EnvVars: []string{"OPENAI_API_KEY"}, Usage: "`KEY` sent to --url"},
		&cli.StringFlag{Name: flagCA, Usage: "verify the server against the certificates in this PEM `FILE` instead of the system's"},
		&cli.BoolFlag{Name: flagInsecure, Usage: "don't verify the server's certificate"},
		&cli.StringFlag{Name: flagProxy, Usage: "HTTP proxy's `URL`; HTTP_PROXY and its like are never read"},
		&cli.DurationFlag{Name: flagConnectTimeout, Value: 10 * time.Second, Usage: "most time to open a connection"},
		&cli.DurationFlag{Name: flagTimeout, Value: 5 * time.Minute, Usage: "most time for one request (0: no bound)"},
	}
}

// loadFlags are the flags of commands that put load on a server.
func loadFlags() []cli.Flag {
	flags := append(serverFlags(),
		&cli.StringFlag{Name: flagAPI, Value: openai.Chat.String(), Usage: "endpoint: chat, completions, responses, messages (Anthropic's) or embeddings"},
		&cli.DurationFlag{Name: flagHeaderTimeout, Usage: "most time from sending to the answer's status line (0: no bound)"},
		&cli.DurationFlag{Name: flagFirstTokenTimeout, Usage: "most time from sending to the first token (0: no bound)"},
		&cli.DurationFlag{Name: flagProgressTimeout, Usage: "most time from one event with tokens to the next (0: no bound)"},
		&cli.IntFlag{Name: flagMaxInFlight, Usage: "most requests running at once; waiting counts as latency (0: no cap)"},
		&cli.IntFlag{Name: flagCancelAfterTokens, Usage: "clients leave after this many `TOKENS`"},
		&cli.DurationFlag{Name: flagCancelAfter, Usage: "clients leave so long after sending"},
		&cli.Float64Flag{Name: flagCancelFraction, Value: 1, Usage: "share of the clients that leave, 0 to 1"},
		&cli.IntFlag{Name: flagRetries, Usage: "make a request that got 429, 5xx or no connection again, up to `N` times, after its Retry-After"},
		&cli.StringFlag{Name: flagTimestamps, Value: transport.TimestampsAuto.String(), Usage: "when bytes came: by the `CLOCK` of kernel or user, or auto: the kernel's where it has one"},
		&cli.BoolFlag{Name: flagIgnoreEOS, Usage: "ask for exactly --output-tokens (ignore_eos); servers known to take it get it anyway"},
		&cli.Int64Flag{Name: flagMaxFailures, Value: -1, DefaultText: "a tenth of them", Usage: "failed requests above this `N` give exit code 3"},
		&cli.StringFlag{Name: flagRecords, Usage: "write a record a request to this JSON Lines `FILE`"},
		&cli.BoolFlag{Name: flagRecordText, Usage: "keep the answers' texts in --records"},
	)
	return append(flags, workloadFlags()...)
}

// workloadFlags say what is asked and what is shown; they hold in virtual time too.
func workloadFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: flagArrival, Value: "poisson", Usage: "how requests arrive at a rate: poisson, constant, or gamma:BURSTINESS (below 1: in bursts)"},
		&cli.DurationFlag{Name: flagDuration, Value: 10 * time.Second, Usage: "how long each load is measured"},
		&cli.DurationFlag{Name: flagWarmup, Value: 2 * time.Second, Usage: "how long each load runs before it is measured"},
		&cli.StringFlag{Name: flagPromptTokens, Value: "512", Usage: "tokens of each prompt, exactly, by the server's count: `N` or MIN..MAX"},
		&cli.StringFlag{Name: flagOutputTokens, Value: "64", Usage: "tokens asked for in each answer (max_tokens): `N` or MIN..MAX"},
		&cli.IntFlag{Name: flagSharedPrefix, Usage: "tokens that the prompts of a group start with alike"},
		&cli.IntFlag{Name: flagPrefixGroups, Value: 1, Usage: "number of different shared prefixes"},
		&cli.Uint64Flag{Name: flagSeed, Value: 1, Usage: "draws arrivals, lengths, prompts and who leaves"},
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
func workloadOf(c *cli.Context, loads []bench.Load) (bench.Workload, error) {
	w := bench.Workload{
		Loads: loads, Duration: c.Duration(flagDuration), Warmup: c.Duration(flagWarmup), Seed: c.Uint64(flagSeed),
		Shape: workload.Shape{SharedPrefix: c.Int(flagSharedPrefix), Groups: c.Int(flagPrefixGroups)},
	}
	var errs []error
	for _, l := range []struct {
		flag    string
		lengths *workload.Lengths
	}{{flagPromptTokens, &w.Shape.Prompt}, {flagOutputTokens, &w.Shape.Output}} {
		var err error
		if *l.lengths, err = workload.ParseLengths(c.String(l.flag)); err != nil {
			errs = append(errs, fmt.Errorf("--%s: %w", l.flag, err))
		}
	}
	return w, errors.Join(errs...)
}

// clientConfig reads what says how to speak to a server.
func clientConfig(c *cli.Context) (bench.Config, error) {
	config := bench.Config{
		URL: c.String(flagURL), Model: c.String(flagModel), APIKey: c.String(flagAPIKey),
		ConnectTimeout: c.Duration(flagConnectTimeout),
		Timeouts: load.Timeouts{
			Header: c.Duration(flagHeaderTimeout), FirstToken: c.Duration(flagFirstTokenTimeout),
			Progress: c.Duration(flagProgressTimeout), Total: c.Duration(flagTimeout),
		},
		MaxInFlight: c.Int(flagMaxInFlight), Retries: c.Int(flagRetries), IgnoreEOS: c.Bool(flagIgnoreEOS),
		RecordsPath: c.String(flagRecords), RecordText: c.Bool(flagRecordText), Version: version,
	}
	if !c.IsSet(flagURL) {
		config.URL = os.Getenv(envURL)
	}
	var errs []error
	note := func(flag string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("--%s: %w", flag, err))
		}
	}
	var err error
	if c.IsSet(flagCA) || c.Bool(flagInsecure) {
		config.TLS, err = transport.TLSConfig(c.String(flagCA), c.Bool(flagInsecure))
		note(flagCA, err)
	}
	if c.IsSet(flagProxy) {
		config.Proxy, err = transport.ParseProxy(c.String(flagProxy))
		note(flagProxy, err)
	}
	if name := c.String(flagAPI); name != "" { // a command without the flag has none
		config.API, err = openai.ParseAPI(name)
		note(flagAPI, err)
	}
	if name := c.String(flagTimestamps); name != "" {
		config.Timestamps, err = transport.ParseTimestamps(name)
		note(flagTimestamps, err)
	}
	config.Leave, err = leave(c)
	return config, errors.Join(append(errs, err, withoutEffect(c, &config))...)
}

// withoutEffect refuses flags that nothing would come of.
func withoutEffect(c *cli.Context, config *bench.Config) error {
	var errs []error
	refuse := func(flag, why string, args ...any) {
		if c.IsSet(flag) {
			errs = append(errs, fmt.Errorf("--%s has no effect: %s", flag, fmt.Sprintf(why, args...)))
		}
	}
	if config.RecordsPath == "" {
		refuse(flagRecordText, "it is for --%s", flagRecords)
	}
	if strings.HasPrefix(config.URL, "http:") {
		for _, flag := range []string{flagCA, flagInsecure} {
			if config.Proxy == nil {
				refuse(flag, "%s is no https URL", config.URL)
			}
		}
	}
	if !config.API.Streams() {
		for _, flag := range []string{flagOutputTokens, flagFirstTokenTimeout, flagProgressTimeout} {
			refuse(flag, "the %s API does not stream tokens", config.API)
		}
	}
	if config.API.Takes(openai.Extensions{IgnoreEOS: true}) == (openai.Extensions{}) {
		refuse(flagIgnoreEOS, "the %s API has no ignore_eos", config.API)
	}
	return errors.Join(errs...)
}

// leave reads which clients leave early.
func leave(c *cli.Context) (load.Leave, error) {
	if !c.IsSet(flagCancelAfterTokens) && !c.IsSet(flagCancelAfter) {
		if c.IsSet(flagCancelFraction) {
			return load.Leave{}, fmt.Errorf("--%s needs --%s or --%s, which say when clients leave", flagCancelFraction, flagCancelAfterTokens, flagCancelAfter)
		}
		return load.Leave{}, nil
	}
	for flag, possible := range map[string]bool{
		flagCancelAfterTokens: c.Int(flagCancelAfterTokens) > 0, flagCancelAfter: c.Duration(flagCancelAfter) > 0,
	} {
		if c.IsSet(flag) && !possible {
			return load.Leave{}, fmt.Errorf("--%s is not possible with %v, must be above 0", flag, c.Value(flag))
		}
	}
	return load.Leave{
		Fraction: c.Float64(flagCancelFraction), AfterTokens: c.Int(flagCancelAfterTokens),
		After: c.Duration(flagCancelAfter), Seed: c.Uint64(flagSeed),
	}, nil
}

// parseRates reads "10,20,40", rates of arrivals as --arrival says.
func parseRates(c *cli.Context, text string) ([]bench.Load, error) {
	arrivals, err := arrival.ParseArrival(c.String(flagArrival))
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", flagArrival, err)
	}
	var loads []bench.Load
	for _, field := range strings.Split(text, ",") {
		arrivals.Rate, err = strconv.ParseFloat(strings.TrimSpace(field), 64)
		if err != nil {
			return nil, fmt.Errorf("--%s %q: %q is no number; give requests a second, such as 10,20,40", flagRates, text, field)
		}
		loads = append(loads, bench.Load{Arrivals: arrivals})
	}
	return loads, nil
}
