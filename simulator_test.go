package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shirou/gopsutil/v3/process"
)

// What the user sets for a server of their own is not for the bundled one, and
// an empty URL in the environment is none.
func TestTheBundledSimulatorKnowsNoVariables(t *testing.T) {
	cmd := program(t, "run", "--rate", "50", "--duration", "100ms", "--warmup", "0s", "--quiet")
	cmd.Env = append(cmd.Env, "LLMSIM_MODELS=nowhere.yml", "LLMSIM_DRAIN=soon", "LLMSIM_BENCH_URL=")
	if text, err := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != exitOK && cmd.ProcessState.ExitCode() != exitLimited {
		t.Errorf("%v: %s", err, text)
	}
	cmd = program(t, "run", "--rate", "50")
	cmd.Env = append(cmd.Env, "LLMSIM_BENCH_URL=nonsense")
	if text, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(text), `bad URL "nonsense"`) {
		t.Errorf("%v: %s", err, text)
	}
}

// The simulator that sweep starts must not outlive it, even if it is killed.
func TestTheBundledSimulatorEndsWithAKilledParent(t *testing.T) {
	records := filepath.Join(t.TempDir(), "r.jsonl")
	cmd := program(t, "sweep", "--rates", "100", "--duration", "1h", "--warmup", "0s", "--records", records)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, func() bool {
		info, err := os.Stat(records + ".partial")
		return err == nil && info.Size() > 0
	})
	children := childrenOf(t, cmd.Process.Pid)
	if len(children) != 1 {
		t.Fatalf("sweep has %d child processes, want the simulator", len(children))
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	waitUntil(t, func() bool {
		running, err := children[0].IsRunning()
		return err != nil || !running || isZombie(children[0])
	})
}

// childrenOf returns the running child processes of pid.
func childrenOf(t *testing.T, pid int) []*process.Process {
	t.Helper()
	p, err := process.NewProcess(int32(pid))
	if err != nil {
		t.Fatal(err)
	}
	children, err := p.Children()
	if err != nil {
		t.Fatal(err)
	}
	return children
}

// isZombie reports whether a process has ended and waits to be collected.
func isZombie(p *process.Process) bool {
	status, err := p.Status()
	return err == nil && len(status) > 0 && status[0] == process.Zombie
}
