//go:build unix

package main

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// buffer can be read while a process writes to it.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) has(text string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Contains(b.text.String(), text)
}

func TestSIGHUPReadsTheResponsesAgain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "responses.yml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("version: 1\nresponses: [{id: a, match: {contains: a}, content: x}, {id: b, match: {contains: ab}, content: x}]\ndefault: {content: first}\n")
	cmd := program(t, "serve", "--listen", "127.0.0.1:0")
	cmd.Env = append(cmd.Env, "LLMSIM_RESPONSES="+file)
	var stderr buffer
	cmd.Stderr = &stderr
	url := startServe(t, cmd)
	if !stderr.has("warning: " + file + ":2: ") {
		t.Errorf("no warning of an entry that can't be reached: %s", stderr.text.String())
	}
	says := func(want string) {
		t.Helper()
		resp, err := http.Post(url+"/chat/completions", "application/json", strings.NewReader(
			`{"model":"sim-instant","messages":[{"role":"user","content":"x"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil || !strings.Contains(string(body), `"content":"`+want+`"`) {
			t.Errorf("%s, %v; want %s", body, err, want)
		}
	}
	hangUp := func(says string) {
		t.Helper()
		if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		waitUntil(t, func() bool { return stderr.has(says) })
	}
	says("first")
	write("version: 1\ndefault: {content: second}\n")
	hangUp("reloaded: 0 responses with 1 variants")
	says("second")
	write("version: 1\ndefault: {contents: third}\n")
	hangUp("the old responses stay: " + file + ":2: ")
	says("second")
}

func TestServeRefusesABadResponsesFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "responses.yml")
	if err := os.WriteFile(file, []byte("version: 2\ndefalt: {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := finished(t, "serve", "--listen", "127.0.0.1:0", "--responses", file)
	if code != 1 || !strings.Contains(stderr, file+":1: version") || !strings.Contains(stderr, file+":2: defalt") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}
