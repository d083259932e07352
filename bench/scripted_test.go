package bench_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"llmsim-bench/bench"
	"llmsim-bench/bench/load"
	"llmsim-bench/bench/record"
	"llmsim-bench/bench/report"
	"llmsim-bench/bench/workload"
)

// chat is a request that a scripted server was sent.
type chat struct {
	prompt    string
	maxTokens int
	key       string // the Authorization header
	fields    map[string]any
}

// probe reports whether it came before the load, which asks for more tokens.
func (c *chat) probe() bool { return c.maxTokens == 1 }

// words is how many tokens the server counts for the prompt.
func (c *chat) words() int { return len(strings.Fields(c.prompt)) }

// scripted is a server of one model that counts a token a word and answers as a
// test wants. The zero value answers every chat well.
type scripted struct {
	model  string // its entry in the list of models; empty: somebody's "m"
	answer func(w http.ResponseWriter, r *http.Request, c *chat)

	mu    sync.Mutex
	chats []*chat
}

func (s *scripted) start(t *testing.T) (url string) {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return server.URL + "/v1"
}

func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/v1/models" {
		model := s.model
		if model == "" {
			model = `{"id":"m","owned_by":"somebody"}`
		}
		fmt.Fprintf(w, `{"object":"list","data":[%s]}`, model)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone
	}
	var read struct {
		MaxTokens int `json:"max_tokens"`
		Messages  []struct{ Content string }
	}
	c := &chat{key: r.Header.Get("Authorization")}
	if err := errors.Join(json.Unmarshal(body, &read), json.Unmarshal(body, &c.fields)); err != nil || len(read.Messages) != 1 {
		http.Error(w, "no chat request", http.StatusTeapot)
		return
	}
	c.prompt, c.maxTokens = read.Messages[0].Content, read.MaxTokens
	s.mu.Lock()
	s.chats = append(s.chats, c)
	s.mu.Unlock()
	if s.answer != nil {
		s.answer(w, r, c)
		return
	}
	answerWell(w, c)
}

// answerWell streams the tokens asked for, and the usage.
func answerWell(w http.ResponseWriter, c *chat) {
	w.Header().Set("Content-Type", "text/event-stream")
	for range c.maxTokens {
		fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{"content":"x"}}]}`+"\n\n")
	}
	answerUsage(w, c)
}

// answerUsage ends an answer.
func answerUsage(w http.ResponseWriter, c *chat) {
	fmt.Fprintf(w, `data: {"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d}}`+"\n\ndata: [DONE]\n\n",
		c.words(), c.maxTokens)
}

// load returns the chats of the load, and probes those before it.
func (s *scripted) load() (load, probes []*chat) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.chats {
		if c.probe() {
			probes = append(probes, c)
		} else {
			load = append(load, c)
		}
	}
	return load, probes
}

// short is a run of a fraction of a second.
func short(url string) bench.Config {
	return bench.Config{
		URL: url, Timeouts: load.Timeouts{Total: time.Minute},
		Workload: bench.Workload{
			Loads: []bench.Load{bench.AtRate(200)}, Duration: 150 * time.Millisecond,
			Shape: workload.Exactly(16, 3), Seed: 1,
		},
	}
}

// measured runs a load that must come to a result, and reads its records.
func measured(t *testing.T, c bench.Config) (*report.Result, []*record.Request) {
	t.Helper()
	c.RecordsPath = filepath.Join(t.TempDir(), "r.jsonl")
	result, err := bench.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(c.RecordsPath)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var records []*record.Request
	for reader := record.NewReader(file); ; {
		r, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return result, records
		}
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, r)
	}
}

// allOK fails unless every request of every point was ok.
func allOK(t *testing.T, result *report.Result) {
	t.Helper()
	for _, p := range result.Points {
		if a := p.Accounting; a.OK == 0 || a.OK != a.Scheduled {
			t.Errorf("%+v %v, want all ok", a, p.FailureExamples)
		}
	}
}
