package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"llmsim-bench/bench"
	"llmsim-bench/simserver/simtest"
)

// diagnose runs the doctor and returns what it says, by topic.
func diagnose(t *testing.T, args ...string) map[string]bench.Finding {
	t.Helper()
	out := filepath.Join(t.TempDir(), "d.json")
	code, stdout, stderr := finished(t, append([]string{"doctor", "--out", out}, args...)...)
	if code != exitOK {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var d bench.Diagnosis
	if err := json.Unmarshal(data, &d); err != nil {
		t.Fatal(err)
	}
	found := make(map[string]bench.Finding)
	for _, f := range d.Findings {
		found[f.Topic] = f
		if !strings.Contains(stdout, f.Says) {
			t.Errorf("not printed: %+v", f)
		}
	}
	return found
}

func wantFindings(t *testing.T, found map[string]bench.Finding, want map[string]bench.Finding) {
	t.Helper()
	for topic, w := range want {
		if f := found[topic]; !strings.Contains(f.Says, w.Says) || f.Warning != w.Warning {
			t.Errorf("%s: %+v, want …%s…, warning %v", topic, f, w.Says, w.Warning)
		}
	}
}

func TestTheDoctorOnTheSimulator(t *testing.T) {
	t.Parallel()
	sim := simtest.Start(t)
	found := diagnose(t, "--url", sim.URL, "--model", "sim-instant", "--connections", "2000000000")
	wantFindings(t, found, map[string]bench.Finding{
		"api chat":         {Says: "answers at /v1/chat/completions"},
		"role event":       {Says: "a role and no token"},
		"terminal":         {Says: "[DONE]"},
		"usage unasked":    {Says: "none"},
		"usage asked for":  {Says: "in an event of its own at the end"},
		"tokens per event": {Says: "1.00 (8 tokens in 8 events)"},
		"stream_options":   {Says: "is accepted; usage came"},
		"ignore_eos":       {Says: "no effect can be seen: 96 of 96 tokens"},
		"min_tokens":       {Says: "no effect can be seen"},
		"prompt length":    {Says: "a prompt made of 512 tokens has 512 by the server's count, 0 of them"},
		"keep-alive":       {Says: "connections are used again"},
		"compression":      {Says: "streams are not compressed"},
		"descriptors":      {Says: "file descriptors", Warning: true},
	})
}

// odd is a server with the habits that make measuring hard.
func odd(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Connection", "close")
	switch r.URL.Path {
	case "/v1/models":
		fmt.Fprint(w, `{"data":[{"id":"odd","owned_by":"somebody","max_model_len":777}]}`)
		return
	case "/v1/chat/completions":
	case "/v1/embeddings":
		http.Error(w, `{"error":{"message":"no such model for this"}}`, http.StatusBadRequest)
		return
	default:
		http.NotFound(w, r)
		return
	}
	var asked map[string]any
	_ = json.NewDecoder(r.Body).Decode(&asked)
	if asked["stream_options"] != nil {
		http.Error(w, `{"error":{"message":"stream_options is not permitted"}}`, http.StatusUnprocessableEntity)
		return
	}
	if r.Header.Get("Accept-Encoding") == "gzip" {
		w.Header().Set("Content-Encoding", "gzip")
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprint(w, ": keep-alive\n\n"+
		`data: {"choices":[{"index":0,"delta":{"role":"assistant","reasoning_content":"hm"}}]}`+"\n\n"+
		`data: {"choices":[{"index":0,"delta":{"content":"x"}}]}`+"\n\n"+
		`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":4}}`+"\n\n")
}

func TestTheDoctorOnAnOddServer(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(odd))
	t.Cleanup(server.Close)
	found := diagnose(t, "--url", server.URL+"/v1", "--connections", "10")
	wantFindings(t, found, map[string]bench.Finding{
		"server":         {Says: "somebody"},
		"context":        {Says: "777 tokens"},
		"api chat":       {Says: "answers"},
		"api messages":   {Says: "is not offered (status 404)"},
		"api embeddings": {Says: "no such model for this"},
		"role event":     {Says: "the role comes with the first token"},
		"reasoning":      {Says: "reasoning_content"},
		"terminal":       {Says: "no [DONE]", Warning: true},
		"comments":       {Says: "keep-alives"},
		"usage unasked":  {Says: "with the finish_reason"},
		"stream_options": {Says: "is refused (status 422)"},
		"ignore_eos":     {Says: "4 tokens came where 96 were asked for", Warning: true},
		"keep-alive":     {Says: "closes every connection", Warning: true},
		"compression":    {Says: "gets gzip"},
		"descriptors":    {Says: "the limit is"},
	})
}

func TestADoctorWithoutAServer(t *testing.T) {
	code, _, stderr := finished(t, "doctor", "--url", "http://127.0.0.1:9/v1")
	if code != exitError || !strings.Contains(stderr, "nothing usable answers") {
		t.Errorf("exit code %d, said %q", code, stderr)
	}
}

// A server that says what it would do by itself, and takes min_tokens.
func TestTheDoctorSeesWhatAnExtensionDoes(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/models" {
			fmt.Fprint(w, `{"data":[{"id":"m"}]}`)
			return
		}
		var asked struct {
			MinTokens int `json:"min_tokens"`
		}
		_ = json.NewDecoder(r.Body).Decode(&asked)
		w.Header().Set("Content-Type", "text/event-stream")
		n := max(5, asked.MinTokens)
		fmt.Fprint(w, strings.Repeat(`data: {"choices":[{"index":0,"delta":{"content":"x"}}]}`+"\n\n", n)+
			fmt.Sprintf(`data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":%d}}`, n)+"\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(server.Close)
	found := diagnose(t, "--url", server.URL+"/v1")
	wantFindings(t, found, map[string]bench.Finding{
		"min_tokens":     {Says: "does something: 96 tokens come with it, 5 without"},
		"ignore_eos":     {Says: "5 tokens came where 96 were asked for", Warning: true},
		"stream_options": {Says: "usage comes without it too"},
	})
}

func TestTheDoctorIsAsPatientAsAsked(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/models" {
			fmt.Fprint(w, `{"data":[{"id":"m"}]}`)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body) // only then is the server told that the client goes
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	found := diagnose(t, "--url", server.URL+"/v1", "--timeout", "50ms")
	wantFindings(t, found, map[string]bench.Finding{
		"api chat":    {Says: "timeout: no end after 50ms", Warning: true},
		"compression": {Says: "no answer after 50ms", Warning: true},
	})
}
