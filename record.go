package main

import (
	"fmt"
	"sync/atomic"

	"github.com/urfave/cli/v2"

	"llmsim-bench/simserver/recorder"
)

const (
	flagUpstream = "upstream"
	flagRecord   = "record"
)

// recordFlags make serve a recording proxy.
func recordFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{
			Name:  flagUpstream,
			Usage: "simulate nothing: proxy to the real server at this `URL`, as https://api.example.com/v1; needs --" + flagRecord,
		},
		&cli.StringFlag{
			Name:  flagRecord,
			Usage: "store each chat completion of --" + flagUpstream + " in this `DIR`, without its keys",
		},
	}
}

// records says whether serve is to record.
func records(c *cli.Context) bool { return c.IsSet(flagUpstream) || c.IsSet(flagRecord) }

// recordExchanges proxies until it is stopped.
func recordExchanges(c *cli.Context) error {
	for _, f := range []struct{ flag, need, want string }{
		{flagUpstream, flagRecord, "the directory for what is recorded"},
		{flagRecord, flagUpstream, "the server to record"},
	} {
		if c.String(f.need) == "" {
			return fmt.Errorf("--%s needs --%s: %s", f.flag, f.need, f.want)
		}
	}
	for _, flag := range []string{flagModels, flagResponses, flagEventLog} {
		if c.String(flag) != "" {
			return fmt.Errorf("--%s (or its variable) has no effect with --%s, must be left out", flag, flagUpstream)
		}
	}
	var lost atomic.Int64
	r, err := recorder.Listen(c.String(flagListen), recorder.Options{
		Upstream: c.String(flagUpstream), Dir: c.String(flagRecord), MaxBodyBytes: c.Int(flagMaxBody),
		Failed: func(err error) {
			lost.Add(1)
			fmt.Fprintln(c.App.ErrWriter, "warning:", err)
		},
	})
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	if err := untilStopped(c, r); err != nil {
		return err
	}
	if n := lost.Load(); n > 0 {
		return fmt.Errorf("serve: %d exchanges could not be stored in %s", n, c.String(flagRecord))
	}
	return nil
}
