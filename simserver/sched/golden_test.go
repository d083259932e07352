package sched

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/valyala/fastjson"
)

// versions are the releases of the golden traces: what each did with the same
// scenarios, and which Config does the same.
var versions = []struct {
	name, profile string
	// blocks and big say which further traces there are of it.
	blocks, big bool
	// gate and watermark say which options the release knows. It ignores others.
	gate, watermark bool
}{
	{name: "v0.16.0", profile: "vllm-0.16"},
	{name: "v0.23.0", profile: "vllm-0.23", blocks: true, big: true, gate: true},
	{name: "main20260817", profile: "vllm-2026-08", blocks: true, big: true, gate: true, watermark: true},
}

// TestGolden replays every scenario and compares each step with what vLLM's own
// scheduler did. SCHED_TRACES names another folder with files of the same names.
func TestGolden(t *testing.T) {
	dir := os.Getenv("SCHED_TRACES")
	if dir == "" {
		dir = "testdata"
	}
	scenarios := readScenarios(t, filepath.Join(dir, "scenarios.jsonl.gz"))
	big := readScenarios(t, filepath.Join(dir, "scenarios_big.jsonl.gz"))
	for _, v := range versions {
		configure := func(sc *scenario) Config {
			c, err := NewConfig(v.profile)
			if err != nil {
				t.Fatal(err)
			}
			return sc.Config.applyTo(c, v.gate, v.watermark)
		}
		run := func(kind string, scenarios []scenario, look view) {
			t.Run(v.name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				compareTraces(t, filepath.Join(dir, kind+"_"+v.name+".jsonl.gz"), scenarios, configure, look)
			})
		}
		run("traces", scenarios, viewSteps)
		if v.blocks {
			run("blocks", scenarios, viewBlocks)
		}
		if v.big {
			run("big", big, viewBig)
		}
	}
}

// compareTraces replays the scenarios of one file of traces, and logs how many of
// them, and of their steps, came out identical.
func compareTraces(t *testing.T, path string, scenarios []scenario, configure func(*scenario) Config, look view) {
	next := 0
	var same, steps, sameSteps int
	var parser fastjson.Parser
	readLines(t, path, func(line []byte) {
		want, err := parseTrace(&parser, line)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if next >= len(scenarios) {
			t.Fatalf("%s: %s is one trace more than the %d scenarios", path, want.name, len(scenarios))
		}
		sc := &scenarios[next]
		next++
		if sc.Name != want.name {
			t.Fatalf("%s: trace %d is of %s, the scenario is %s", path, next, want.name, sc.Name)
		}
		replay := newReplay(t, sc, configure(sc), look)
		steps += len(want.steps)
		for i := range want.steps {
			got := replay.step(i)
			if diff := got.diff(&want.steps[i]); diff != "" {
				t.Errorf("%s step %d: %s", sc.Name, i, diff)
				return
			}
			sameSteps++
		}
		same++
		if len(want.steps) == 0 || len(replay.ids) != len(sc.Requests) {
			t.Errorf("%s: the trace has %d steps, and %d of %d requests came in them", sc.Name, len(want.steps), len(replay.ids), len(sc.Requests))
		}
		if s := replay.s; s.NumRunning() > 0 || s.NumWaiting() > 0 || s.InFlight() > 0 {
			t.Errorf("%s: the trace has ended with %d running, %d waiting, %d steps in flight",
				sc.Name, s.NumRunning(), s.NumWaiting(), s.InFlight())
		}
	})
	if next != len(scenarios) {
		t.Errorf("%s: %d traces for %d scenarios", path, next, len(scenarios))
	}
	t.Logf("%s: %d of %d scenarios and %d of %d steps identical", filepath.Base(path), same, len(scenarios), sameSteps, steps)
}
