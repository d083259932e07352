package main

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// drainModels have one model that streams for a second, and one for hours.
const drainModels = `
models:
  - name: second
    context_length: 4096
    tokenizer: regex
    engine: fixed_rate
    latency: {overhead_ms: 0, prefill_tokens_per_second: 100000, itl_ms: 1}
  - name: hours
    context_length: 4096
    tokenizer: regex
    engine: fixed_rate
    latency: {overhead_ms: 0, prefill_tokens_per_second: 100000, itl_ms: 60000}
`

// streaming starts serve and a stream of 1,000 tokens, of which it reads the
// first event.
func streaming(t *testing.T, model string, flags ...string) (stop func() error, rest *bufio.Reader) {
	t.Helper()
	models := filepath.Join(t.TempDir(), "models.yml")
	if err := os.WriteFile(models, []byte(drainModels), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := program(t, append([]string{"serve", "--listen", "127.0.0.1:0", "--models", models}, flags...)...)
	url := startServe(t, cmd)
	resp, err := http.Post(url+"/chat/completions", "application/json", strings.NewReader(
		`{"model":"`+model+`","messages":[{"role":"user","content":"x"}],"max_tokens":1000,"stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	rest = bufio.NewReader(resp.Body)
	if _, err := rest.ReadString('}'); err != nil {
		t.Fatal(err)
	}
	return func() error {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			return err
		}
		return cmd.Wait()
	}, rest
}

func TestSIGTERMLetsStreamsEnd(t *testing.T) {
	stop, rest := streaming(t, "second")
	ended := make(chan error, 1)
	go func() { ended <- stop() }()
	text, err := io.ReadAll(rest)
	if err != nil || !strings.HasSuffix(string(text), "data: [DONE]\n\n") {
		t.Errorf("the stream ended with %v after %d bytes", err, len(text))
	}
	if err := <-ended; err != nil {
		t.Errorf("serve ended with %v", err)
	}
}

func TestDrainBoundsSIGTERM(t *testing.T) {
	stop, rest := streaming(t, "hours", "--drain", "50ms")
	if err := stop(); err == nil {
		t.Error("serve does not say that it cut an answer")
	}
	if _, err := io.ReadAll(rest); err == nil {
		t.Error("a stream of hours ended well")
	}
}

func TestMaxBodyBytesFlag(t *testing.T) {
	cmd := program(t, "serve", "--listen", "127.0.0.1:0", "--max-body-bytes", "100")
	url := startServe(t, cmd)
	resp, err := http.Post(url+"/chat/completions", "application/json", strings.NewReader(strings.Repeat(" ", 200)))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("a body over the limit: %s", resp.Status)
	}
}

func TestServeStopsOnSIGTERM(t *testing.T) {
	models := filepath.Join(t.TempDir(), "models.yml")
	if err := os.WriteFile(models, []byte(fastModels), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := program(t, "serve")
	cmd.Env = append(cmd.Env, "LLMSIM_LISTEN=127.0.0.1:0", "LLMSIM_MODELS="+models)
	url := startServe(t, cmd)
	resp, err := http.Get(url + "/models/slow")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("the models of LLMSIM_MODELS are not served: %s", resp.Status)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("serve ended with %v", err)
	}
}

func TestServeRefusesABadModelsFile(t *testing.T) {
	models := filepath.Join(t.TempDir(), "models.yml")
	if err := os.WriteFile(models, []byte(strings.Replace(fastModels, "itl_ms: 4", "itl_ms: -4", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := finished(t, "serve", "--listen", "127.0.0.1:0", "--models", models)
	if code != exitError || stdout != "" || !strings.Contains(stderr, models+":7: models[0].latency.itl_ms: -4") {
		t.Errorf("exit code %d, printed %q, said %q", code, stdout, stderr)
	}
}
