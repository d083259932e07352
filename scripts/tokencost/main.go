//go:build unix

// Command tokencost compares what a token costs the simulator with what it
// costs a bare loop that writes the same bytes to as many sockets on the same
// schedule. Each runs in a process of its own, in turn, and this process reads
// the streams of both. It prints CPU per token, lag, drift, and ratios.
//
//	go run ./scripts/tokencost --server ./llmsim-bench
//
// --also measures further programs in the same rounds, such as another build
// or the same one in another environment: --also 'GOGC=400 ./llmsim-bench'.
// --curve measures the server at 1, 2, 4 … 1,024 streams instead, and --idle N
// beside N further streams that wait for their first token. --profile shows where
// the server's CPU time goes.
package main

import (
	_ "embed"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A schedule says when the tokens of a model in models.yml are due.
type schedule struct {
	name     string
	model    string
	first    time.Duration // from arrival to the first token
	interval time.Duration // between two tokens
	// together: the tokens of all streams are due at once, a step after the
	// other. Else each stream keeps to its own arrival.
	together bool
}

var schedules = []schedule{
	// The prompt has 3 tokens.
	{name: "fixed_rate", model: "sim-fixed", first: 2*time.Millisecond + 30*time.Microsecond, interval: 4 * time.Millisecond},
	{name: "scheduler", model: "sim-steps", first: 7 * time.Millisecond, interval: 7 * time.Millisecond, together: true},
}

//go:embed models.yml
var models []byte

// load is one run's shape.
type load struct {
	schedule
	streams, tokens int
}

// options are what the command line says.
type options struct {
	server    string
	also      programs
	schedules []schedule
	streams   int
	tokens    int
	rounds    int
	idle      int
}

// programs collects the values of --also.
type programs []string

func (p *programs) String() string { return strings.Join(*p, ", ") }

func (p *programs) Set(s string) error {
	*p = append(*p, s)
	return nil
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "tokencost:", err)
		os.Exit(1)
	}
}

func run() error {
	var o options
	flag.StringVar(&o.server, "server", "./llmsim-bench", "the program to measure")
	flag.Var(&o.also, "also", "measure this too, '[VARIABLE=VALUE …] PROGRAM'; repeatable")
	engine := flag.String("engine", "", "fixed_rate or scheduler; empty: one after the other")
	flag.IntVar(&o.streams, "streams", 64, "streams at once")
	flag.IntVar(&o.tokens, "tokens", 2000, "tokens a stream")
	flag.IntVar(&o.rounds, "rounds", 3, "rounds; figures are medians over them")
	flag.IntVar(&o.idle, "idle", 0, "measure the effect of so many waiting streams")
	profile := flag.Bool("profile", false, "show where the server's CPU time goes; needs perf")
	curve := flag.Bool("curve", false, "measure 1, 2, 4 … 1,024 streams")
	bare := flag.String("bare", "", "internal: be the bare loop and write these bytes (hex) for each token")
	waiting := flag.String("park", "", "internal: hold --idle streams of the server at this address")
	flag.Parse()
	for _, s := range schedules {
		if *engine == "" || *engine == s.name {
			o.schedules = append(o.schedules, s)
		}
	}
	if len(o.schedules) == 0 {
		return fmt.Errorf("--engine %q, must be fixed_rate or scheduler", *engine)
	}
	if o.streams < 1 || o.tokens < 2*edge || o.rounds < 1 {
		return fmt.Errorf("--streams and --rounds must be 1 or more, --tokens %d or more", 2*edge)
	}
	if *waiting != "" {
		return runPark(*waiting, o.idle)
	}
	if *bare != "" {
		return runBare(load{o.schedules[0], o.streams, o.tokens}, *bare)
	}
	dir, err := os.MkdirTemp("", "tokencost")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	modelsFile = filepath.Join(dir, "models.yml")
	if err := os.WriteFile(modelsFile, models, 0o600); err != nil {
		return err
	}
	switch {
	case *curve:
		return runCurve(o)
	case *profile:
		return runProfile(o)
	case o.idle > 0:
		return runIdle(o)
	}
	return runCompare(o)
}
