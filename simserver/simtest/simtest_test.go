package simtest_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"llmsim-bench/simserver/simtest"
)

func TestStartServesUntilTheTestEnds(t *testing.T) {
	var url string
	t.Run("inner", func(t *testing.T) {
		sim := simtest.Start(t)
		url = sim.URL + "/models"
		resp, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil || !strings.Contains(string(body), `"sim-fixed"`) {
			t.Errorf("models: %s, %v", body, err)
		}
	})
	if resp, err := http.Get(url); err == nil {
		resp.Body.Close()
		t.Error("the simulator outlived its test")
	}
}

func TestWithResponses(t *testing.T) {
	sim := simtest.Start(t, simtest.WithResponses("version: 1\ndefault: {content: Hello there.}\n"))
	resp, err := http.Post(sim.URL+"/chat/completions", "application/json", strings.NewReader(
		`{"model":"sim-instant","messages":[{"role":"user","content":"x"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || !strings.Contains(string(body), `"content":"Hello there."`) {
		t.Errorf("%s, %v", body, err)
	}
}
