package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestServeRecordsAndReplays(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		fmt.Fprint(w, `{"choices":[{"message":{"content":"from the real server"},"finish_reason":"stop"}]}`)
	}))
	defer upstream.Close()
	dir := filepath.Join(t.TempDir(), "records")
	cmd := program(t, "serve", "--listen", "127.0.0.1:0", "--upstream", upstream.URL, "--record", dir)
	url := startServe(t, cmd)
	if body := post(t, url, "m"); !strings.Contains(body, "from the real server") {
		t.Errorf("the proxy answered %s", body)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("serve ended with %v", err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*-m.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("recorded %v, %v", files, err)
	}
	if data, err := os.ReadFile(files[0]); err != nil || strings.Contains(string(data), "sk-secret-0123456789") {
		t.Errorf("%v, the file has\n%s", err, data)
	}
	responses := filepath.Join(dir, "responses.yml")
	text := fmt.Sprintf("version: 1\ndefault: {replay: %s}\n", filepath.Base(files[0]))
	if err := os.WriteFile(responses, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	url = startServe(t, program(t, "serve", "--listen", "127.0.0.1:0", "--responses", responses))
	if body := post(t, url, "sim-instant"); !strings.Contains(body, "from the real server") {
		t.Errorf("the replay answered %s", body)
	}
}

// post asks once, with a key, and returns the body of the answer.
func post(t *testing.T, url, model string) string {
	t.Helper()
	q, err := http.NewRequest(http.MethodPost, url+"/chat/completions", strings.NewReader(
		`{"model":"`+model+`","messages":[{"role":"user","content":"x"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer sk-secret-0123456789")
	resp, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestServeRefusesHalfARecorder(t *testing.T) {
	dir := t.TempDir()
	for want, flags := range map[string][]string{
		"--upstream needs --record: the directory for what is recorded":                               {"--upstream", "http://x"},
		"--record needs --upstream: the server to record":                                             {"--record", dir},
		"--models (or its variable) has no effect with --upstream, must be left out":                  {"--upstream", "http://x", "--record", dir, "--models", "m.yml"},
		`serve: the upstream "x" is not one to proxy to, must be a URL as https://api.example.com/v1`: {"--upstream", "x", "--record", dir},
	} {
		code, stdout, stderr := finished(t, append([]string{"serve", "--listen", "127.0.0.1:0"}, flags...)...)
		if code != exitError || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("%v: exit code %d, printed %q, said %q, want %q", flags, code, stdout, stderr, want)
		}
	}
}
