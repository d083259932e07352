package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"llmsim-bench/experiments"
	"llmsim-bench/experiments/simulate"
)

// An experiment runs through the command, on a simulator in a process of its own.
// Whether a busy machine keeps to the prediction is not asked here, but what does
// not depend on it is.
func TestAShortExperiment(t *testing.T) {
	if raceDetector {
		t.Skip("a simulator with the race detector is late for every token, and each case would be run three times")
	}
	dir := t.TempDir()
	d := simulate.Distribution{0, 5_000_000}
	delays, err := json.Marshal(experiments.Prediction{Delays: experiments.MachineDelays{Rounds: []experiments.DelayRound{{
		Turnaround: map[int]simulate.Distribution{1: d}, Apart: d, Arrival: d, Bursts: []simulate.Distribution{d}, Leaving: d,
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "delays.json")
	if err := os.WriteFile(file, delays, 0o600); err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(dir, "kept")
	code, stdout, stderr := finished(t, "experiments", "run", "--quick", "--delays", file, "--results", filepath.Join(dir, "none"), "--keep", kept, "E3")
	if code != exitOK && !strings.Contains(stderr, "predictions failed without an explanation") {
		t.Fatalf("exit code %d\n%s%s", code, stdout, stderr)
	}
	comparison, err := experiments.Store{Dir: kept}.Compare("E3")
	if err != nil {
		t.Fatal(err)
	}
	if comparison.Replayed < 34 || comparison.Differ != 0 {
		t.Errorf("%d requests were replayed, %d differ", comparison.Replayed, comparison.Differ)
	}
	for _, want := range []string{"E3 Chunked prefill, live", "budget 2048: itl_max", "27.91"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%q is not said:\n%s", want, stdout)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "none")); !os.IsNotExist(err) {
		t.Error("the folder of results was written")
	}
}

func TestBadExperimentCommands(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args string
		says string
	}{
		{"list E77", `there is no experiment "E77"; there are E1, E2`},
		{"run E3 --results " + dir, "no experiment"}, // flags come first
		{"run --results " + dir + " E3", "write it before the run, with: llmsim-bench experiments predict E3"},
		{"diff --results " + dir + " E3", "there is no prediction"},
		{"run --virtual E3", "--virtual is possible with --quick only"},
		{"run --quick --virtual --live E3", "give one of --virtual and --live"},
		{"run --quick --delays " + file + " E3", "it must be the prediction.json of an experiment"},
		{"predict --results " + file + " E3", "give another folder with --results"},
	} {
		code, _, stderr := finished(t, append([]string{"experiments"}, strings.Fields(c.args)...)...)
		if code != exitError || !strings.Contains(stderr, c.says) {
			t.Errorf("%s: exit code %d, %q, want %q", c.args, code, stderr, c.says)
		}
	}
	if code, stdout, stderr := finished(t, "experiments", "list", "--results", dir); code != exitOK || strings.Count(stdout, "no prediction") != 10 {
		t.Errorf("list: exit code %d\n%s%s", code, stdout, stderr)
	}
}
