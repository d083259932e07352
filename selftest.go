package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"llmsim-bench/bench/report"
	"llmsim-bench/bench/selftest"
	"llmsim-bench/internal/child"
)

const (
	flagQuick      = "quick"
	flagStreams    = "streams"
	flagNullServer = "null-server"
)

// maxSelftestStreams bounds --streams, which opens two descriptors for each.
const maxSelftestStreams = 1 << 20

func selftestCommand() *cli.Command {
	return &cli.Command{
		Name:  "selftest",
		Usage: "find out what load this machine can make",
		Description: `Puts load on a server that answers prepared bytes, until this client is no longer
well: requests a second, events a second, streams at once, and what each costs
in CPU time. Takes about 40 s (--quick: about 10 s). The result is remembered for
this machine; sweep and run warn of a load above it.

EXAMPLES:
   llmsim-bench selftest
   llmsim-bench selftest --quick --out selftest.json

EXIT CODES:
   0  fine
   1  usage or internal error, or stopped early`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: flagQuick, Usage: "measure for about 10 s, less exactly"},
			&cli.IntFlag{Name: flagStreams, Value: 5000, Usage: "most streams to open at once"},
			&cli.StringFlag{Name: flagOut, Usage: "write the result to this JSON `FILE`"},
			&cli.BoolFlag{Name: flagQuiet, Usage: "print no table and no progress"},
			&cli.BoolFlag{Name: flagNullServer, Hidden: true, Usage: "be the server until standard input closes"},
		},
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			if n := c.Int(flagStreams); n < 1 || n > maxSelftestStreams {
				return fmt.Errorf("--%s %d is not possible, must be 1 to %d", flagStreams, n, maxSelftestStreams)
			}
			if c.Bool(flagNullServer) {
				return serveNull(c)
			}
			if err := checkOutputs(c, flagOut); err != nil {
				return err
			}
			return selfTest(c)
		},
	}
}

// selftestKey says for which machine and program a self-test holds.
func selftestKey() selftest.Key {
	m := report.ThisMachine()
	return selftest.Key{CPU: m.CPU, Cores: m.GOMAXPROCS, Go: m.Go, Version: version}
}

func selfTest(c *cli.Context) error {
	server, err := child.Start("the null server", "selftest", "--"+flagNullServer)
	if err != nil {
		return err
	}
	defer server.Stop()
	o := selftest.Options{URL: server.URL, Key: selftestKey(), Plan: selftest.Full(c.Int(flagStreams))}
	if c.Bool(flagQuick) {
		o.Plan = selftest.Quick(c.Int(flagStreams))
	}
	if !c.Bool(flagQuiet) {
		o.Progress = func(what string) { fmt.Fprintln(os.Stderr, "selftest:", what) }
	}
	result, err := selftest.Run(c.Context, o)
	if err != nil {
		return err
	}
	if _, err := result.Save(); err != nil { // it was measured all the same
		fmt.Fprintln(os.Stderr, "selftest: sweep and run won't know of it:", err)
	}
	var errs []error
	if path := c.String(flagOut); path != "" {
		errs = append(errs, result.WriteJSON(path))
	}
	if !c.Bool(flagQuiet) {
		errs = append(errs, result.WriteTable(c.App.Writer))
	}
	return errors.Join(errs...)
}

// serveNull is the server's process.
func serveNull(c *cli.Context) error {
	server, err := selftest.ListenNull("127.0.0.1:0")
	if err != nil {
		return err
	}
	go func() {
		select {
		case <-c.Context.Done():
		case <-child.Orphaned():
		}
		server.Close()
	}()
	fmt.Fprintln(c.App.Writer, child.Listening+server.URL())
	_ = server.Serve() // it ends with Close
	return nil
}
