package main

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"llmsim-bench/bench/selftest"
	"llmsim-bench/simserver/simtest"
)

// What the self-test of this machine found warns of a load above it, and nothing
// else does.
func TestALoadAboveTheSelftestIsWarnedOf(t *testing.T) {
	sim := simtest.Start(t)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	args := []string{
		"run", "--url", sim.URL, "--model", "sim-instant", "--rate", "100", "--duration", "200ms", "--warmup", "0s",
		"--prompt-tokens", "16", "--output-tokens", "4",
	}
	if _, _, stderr := finished(t, args...); strings.Contains(stderr, "warning") {
		t.Errorf("without a self-test: %s", stderr)
	}
	found := selftest.Result{
		Schema: selftest.Schema, Key: selftestKey(),
		Requests: selftest.Part{Sustained: 70, Steps: []selftest.Step{}},
		Events:   selftest.Part{Sustained: 390, Steps: []selftest.Step{}},
	}
	if _, err := found.Save(); err != nil {
		t.Fatal(err)
	}
	_, _, stderr := finished(t, args...)
	for _, want := range []string{
		"warning: rate 100/s: The load is about 100 requests/s, and the self-test found this machine to sustain 70.",
		"about 400 events/s",
	} {
		if !strings.Contains(stderr, want) {
			t.Errorf("said %q, want …%s…", stderr, want)
		}
	}
}

// The server of the self-test ends with its parent.
func TestTheNullServerEndsWithItsParent(t *testing.T) {
	cmd := program(t, "selftest", "--null-server")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	url := startServe(t, cmd)
	response, err := http.Get(url + "/models")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, err := io.ReadAll(response.Body); err != nil || !strings.Contains(string(body), `"data"`) {
		t.Errorf("models: %s, %v", body, err)
	}
	stdin.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

func TestASelftestThatCannotBe(t *testing.T) {
	for says, args := range map[string][]string{
		"takes no arguments":          {"now"},
		"--streams 0 is not possible": {"--streams", "0"},
		"no such file":                {"--out", "nowhere/r.json"},
	} {
		code, _, stderr := finished(t, append([]string{"selftest"}, args...)...)
		if code != exitError || !strings.Contains(stderr, says) {
			t.Errorf("%v: exit code %d, said %q", args, code, stderr)
		}
	}
}
