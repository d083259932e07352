// Command llmsim-bench benchmarks OpenAI-compatible servers with an open-loop
// load generator, and simulates one without a model or a GPU.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/urfave/cli/v2"
)

// version is set by the build.
var version = "dev"

// Exit codes, the same for every command.
const (
	exitOK       = 0
	exitError    = 1 // a usage or internal error
	exitSLO      = 2 // an objective of --slo was missed
	exitFailures = 3 // more requests failed than --max-failures allows
	exitLimited  = 4 // the client could not keep up: its numbers can't be trusted
)

const exitCodesHelp = `EXIT CODES:
   0  fine
   1  usage or internal error, stopped early, or nothing measured
   2  an objective of --slo was missed
   3  more requests failed than --max-failures allows (default: a tenth)
   4  the client was the limit: don't trust these numbers`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // whoever asks twice means now: the second signal ends the process
	os.Exit(run(ctx, os.Args))
}

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string) int {
	app := &cli.App{
		Name:    "llmsim-bench",
		Usage:   "benchmark OpenAI-compatible servers, and simulate one that needs no GPU",
		Version: version,
		Description: `Benchmark the bundled simulator:      llmsim-bench sweep
Benchmark a server:                   llmsim-bench sweep --url http://host:8000/v1 --rates 1,2,4
Start the simulator for your client:  llmsim-bench serve`,
		Commands:        []*cli.Command{sweepCommand(), runCommand(), serveCommand(), simulateCommand(), experimentsCommand(), doctorCommand(), selftestCommand()},
		HideHelpCommand: true,
		ExitErrHandler:  func(*cli.Context, error) {}, // run decides
	}
	err := app.RunContext(ctx, args)
	var exit cli.ExitCoder
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &exit):
		if exit.Error() != "" {
			fmt.Fprintln(os.Stderr, "llmsim-bench:", exit.Error())
		}
		return exit.ExitCode()
	default:
		fmt.Fprintln(os.Stderr, "llmsim-bench:", err)
		return exitError
	}
}
