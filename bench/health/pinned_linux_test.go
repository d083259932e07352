package health

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"llmsim-bench/internal/sleep"

	"golang.org/x/sys/unix"
)

// roleVariable makes the test binary one of the processes of
// TestAClientOnOneBusyCoreIsFoundOut.
const roleVariable = "HEALTH_TEST_ROLE"

const (
	rolePin    = "pin:" // before another role: on one core
	roleClient = "client"
	roleHog    = "hog"
)

func TestMain(m *testing.M) {
	role := os.Getenv(roleVariable)
	next, pinned := strings.CutPrefix(role, rolePin)
	switch {
	case pinned:
		becomeOnOneCore(next)
	case role == roleClient:
		beClient()
	case role == roleHog:
		beHog()
	default:
		os.Exit(m.Run())
	}
}

// becomeOnOneCore replaces this process by one of another role, whose threads
// and GOMAXPROCS all have the first core that this process may use.
func becomeOnOneCore(role string) {
	var allowed, one unix.CPUSet
	must(unix.SchedGetaffinity(0, &allowed))
	for core := range len(allowed) * 64 {
		if allowed.IsSet(core) {
			one.Set(core)
			break
		}
	}
	must(unix.SchedSetaffinity(0, &one))
	must(os.Setenv(roleVariable, role))
	must(syscall.Exec("/proc/self/exe", os.Args, os.Environ()))
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// hogLife bounds a hog that nobody kills.
const hogLife = 20 * time.Second

// beHog keeps a core busy.
func beHog() {
	fmt.Println("busy")
	for end := time.Now().Add(hogLife); time.Now().Before(end); {
	}
}

// The client's load: so many streams of which each has an event to decode every
// so often, all of which takes clientShare of one core. One core that is shared
// with a hog has not got that much to give.
const (
	clientStreams = 64
	clientPace    = 40 * time.Millisecond
	clientShare   = 0.9
	clientTime    = 300 * time.Millisecond
)

const streamedEvent = `{"id":"c-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":" word"},"finish_reason":null}]}`

// decode is the work of so many events.
func decode(events int) {
	for range events {
		var v any
		must(json.Unmarshal([]byte(streamedEvent), &v))
	}
}

// beClient watches itself under its load and prints its verdict.
func beClient() {
	// By CPU time, so that a hog on the core does not make the load less.
	const some = 200
	start, _ := ProcessCPU()
	decoded, now := 0, start
	for ; now-start < 20*time.Millisecond; now, _ = ProcessCPU() {
		decode(some)
		decoded += some
	}
	perEvent := float64(now-start) / float64(decoded)
	events := int(clientShare * float64(clientPace) / clientStreams / perEvent)

	monitor := NewMonitor(sleep.NewClock())
	monitor.Start()
	var streams sync.WaitGroup
	begin := time.Now()
	for i := range clientStreams {
		streams.Go(func() {
			due := begin.Add(clientPace * time.Duration(i) / clientStreams)
			for ; time.Since(begin) < clientTime; due = due.Add(clientPace) {
				time.Sleep(time.Until(due))
				decode(events)
			}
		})
	}
	streams.Wait()
	must(json.NewEncoder(os.Stdout).Encode(Evidence{Report: monitor.Stop()}.Judge()))
}

// inRole starts this binary in a role.
func inRole(t *testing.T, role string) *exec.Cmd {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Env = append(os.Environ(), roleVariable+"="+role, "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	return cmd
}

// clientVerdict runs a client to its end.
func clientVerdict(t *testing.T, role string) Verdict {
	t.Helper()
	out, err := inRole(t, role).Output()
	if err != nil {
		t.Fatalf("%s: %v", role, err)
	}
	var v Verdict
	if err := json.Unmarshal(out, &v); err != nil {
		t.Fatalf("%s: %v: %q", role, err, out)
	}
	return v
}

// withHog keeps the core that pinned clients are on busy while f runs.
func withHog(t *testing.T, f func()) {
	t.Helper()
	hog := inRole(t, rolePin+roleHog)
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

// TestAClientOnOneBusyCoreIsFoundOut: the same load that is light for a client on
// all cores is too much for one on a single core that it shares.
func TestAClientOnOneBusyCoreIsFoundOut(t *testing.T) {
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil || allowed.Count() < 2 {
		t.Skipf("there are %d cores (%v): a client can't have more than one", allowed.Count(), err)
	}
	const (
		rounds   = 3 // of which the median counts
		attempts = 5 // on a machine that others keep busy too
	)
	for attempt := 1; ; attempt++ {
		var free, pinned []float64
		for range rounds {
			free = append(free, clientVerdict(t, roleClient).Lateness.P99)
			withHog(t, func() {
				v := clientVerdict(t, rolePin+roleClient)
				pinned = append(pinned, v.Lateness.P99)
				if v.Verdict == OK || !strings.Contains(strings.Join(v.Reasons, " "), "The client's wake-ups") &&
					!strings.Contains(strings.Join(v.Reasons, " "), "of its 1 cores") {
					t.Errorf("the client on one busy core found itself %s for %q, want its wake-ups or its core as the reason", v.Verdict, v.Reasons)
				}
				if v.Cores != 1 {
					t.Errorf("the pinned client has %d cores", v.Cores)
				}
			})
		}
		slices.Sort(free)
		slices.Sort(pinned)
		t.Logf("wake-ups late by, p99 in ms: on all cores %.1f, on one busy core %.1f", free, pinned)
		if free[rounds/2] < pinned[rounds/2] {
			return
		}
		if attempt == attempts {
			t.Fatalf("no later on one busy core than on all, in %d attempts", attempts)
		}
	}
}
