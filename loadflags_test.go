package main

import (
	"bytes"
	"flag"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"llmsim-bench/bench/report"
)

// A file that can't be written after all must not take the table with it.
func TestTheTableIsShownWhereTheFileFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "missing", "r.json")
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	flags.String(flagOut, path, "")
	var table bytes.Buffer
	c := cli.NewContext(&cli.App{Writer: &table}, flags, nil)
	err := show(c, &report.Result{Model: "the-model"})
	if err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v, want one that names %s", err, path)
	}
	if !strings.Contains(table.String(), "the-model") {
		t.Errorf("the table is %q", table.String())
	}
}
