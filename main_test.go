package main

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shirou/gopsutil/v3/process"
)

// The first signal lets answers end; whoever sends another does not wait.
func TestASecondSignalEndsTheProcess(t *testing.T) {
	models := filepath.Join(t.TempDir(), "models.yml")
	if err := os.WriteFile(models, []byte(fastModels), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := program(t, "serve", "--listen", "127.0.0.1:0", "--models", models, "--drain", "1h")
	url := startServe(t, cmd)
	asked := make(chan error, 1)
	go func() { // an answer that takes an hour
		resp, err := http.Post(url+"/chat/completions", "application/json",
			strings.NewReader(`{"model":"slow","messages":[{"role":"user","content":"hi"}]}`))
		if err == nil {
			resp.Body.Close()
		}
		asked <- err
	}()
	waitUntil(t, func() bool {
		resp, err := http.Get(strings.TrimSuffix(url, "/v1") + "/metrics/summary")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		return err == nil && bytes.Contains(text, []byte(`"running":1`))
	})
	served, err := process.NewProcess(int32(cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	// When the first has been heard can't be seen: signals come until the end.
	waitUntil(t, func() bool {
		_ = cmd.Process.Signal(os.Interrupt)
		return isZombie(served)
	})
	if err := <-asked; err == nil {
		t.Error("the hour's answer came to its end")
	}
}
