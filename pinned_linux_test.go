package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"llmsim-bench/bench/health"
	"llmsim-bench/simserver/simtest"
)

// Roles in which the test binary starts another process: with a program on one
// core only, or as one that keeps that core busy.
const (
	pinVariable = "BENCH_TEST_ONE_CORE"
	hogVariable = "BENCH_TEST_HOG"
)

func init() {
	if os.Getenv(pinVariable) != "" {
		becomeOnOneCore()
	}
	if os.Getenv(hogVariable) != "" {
		beHog()
		os.Exit(0)
	}
}

// becomeOnOneCore replaces this process by the same one whose threads, and so its
// GOMAXPROCS, have the first core that this process may use.
func becomeOnOneCore() {
	must := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	var allowed, one unix.CPUSet
	must(unix.SchedGetaffinity(0, &allowed))
	for core := range len(allowed) * 64 {
		if allowed.IsSet(core) {
			one.Set(core)
			break
		}
	}
	must(unix.SchedSetaffinity(0, &one))
	must(os.Unsetenv(pinVariable))
	must(syscall.Exec("/proc/self/exe", os.Args, os.Environ()))
}

// hogLife bounds a hog that nobody kills.
const hogLife = 30 * time.Second

// beHog keeps a core busy.
func beHog() {
	fmt.Println("busy")
	for end := time.Now().Add(hogLife); time.Now().Before(end); {
	}
}

// withHog keeps the core that pinned programs are on busy while f runs.
func withHog(t *testing.T, f func()) {
	t.Helper()
	hog := exec.CommandContext(t.Context(), os.Args[0])
	hog.Env = append(os.Environ(), pinVariable+"=1", hogVariable+"=1")
	stdout, err := hog.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := hog.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = hog.Process.Kill()
		_ = hog.Wait()
	}()
	if _, err := stdout.Read(make([]byte, 1)); err != nil {
		t.Fatalf("the hog does not start: %v", err)
	}
	f()
}

// healthOf measures a server and returns what the client found of itself.
func healthOf(t *testing.T, sim *simtest.Simulator, pinned bool) health.Verdict {
	t.Helper()
	out := filepath.Join(t.TempDir(), "r.json")
	cmd := program(t, "run", "--url", sim.URL, "--model", "sim-fixed", "--rate", "400", "--duration", "1s", "--warmup", "200ms",
		"--output-tokens", "16", "--timeout", "5s", "--out", out, "--quiet")
	if pinned {
		cmd.Env = append(cmd.Env, pinVariable+"=1")
	}
	text, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code == exitError {
		t.Fatalf("%v: %s", err, text)
	}
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var r struct {
		Points []struct {
			Health health.Verdict `json:"health"`
		} `json:"points"`
	}
	if err := json.Unmarshal(data, &r); err != nil || len(r.Points) != 1 {
		t.Fatalf("%d points, %v", len(r.Points), err)
	}
	return r.Points[0].Health
}

// TestAClientOnOneBusyCoreIsFoundOut: the load that a client on all cores carries is
// too much for one that shares a single core with another program. It says so, and
// the other is better off.
func TestAClientOnOneBusyCoreIsFoundOut(t *testing.T) {
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil || allowed.Count() < 2 {
		t.Skipf("there are %d cores (%v): a client can't have more than one", allowed.Count(), err)
	}
	sim := simtest.Start(t)
	const attempts = 5 // on a machine that others keep busy too
	for attempt := 1; ; attempt++ {
		free := healthOf(t, sim, false)
		var pinned health.Verdict
		withHog(t, func() { pinned = healthOf(t, sim, true) })
		reasons := strings.Join(pinned.Reasons, " ")
		t.Logf("on all cores: %s, wake-ups %.1f ms late; on one busy core: %s, %.1f ms late: %s",
			free.Verdict, free.Lateness.P99, pinned.Verdict, pinned.Lateness.P99, reasons)
		if pinned.Cores != 1 || free.Cores < 2 {
			t.Fatalf("the pinned client has %d cores, the other %d", pinned.Cores, free.Cores)
		}
		if pinned.Verdict != health.OK && reasons != "" && free.Lateness.P99 < pinned.Lateness.P99 {
			return
		}
		if attempt == attempts {
			t.Fatalf("in none of %d attempts was the client on one busy core found out and later than the other", attempts)
		}
	}
}
