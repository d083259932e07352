package experiments

import (
	"context"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"llmsim-bench/simserver"
	"llmsim-bench/simserver/config"
)

// inProcess starts a simulator beside the test.
func inProcess(modelsFile, eventLog string) (string, func(), error) {
	models, err := config.Load(modelsFile)
	if err != nil {
		return "", nil, err
	}
	server, err := simserver.Listen("127.0.0.1:0", models, simserver.Options{EventLog: eventLog})
	if err != nil {
		return "", nil, err
	}
	served := make(chan struct{})
	go func() { _ = server.Serve(); close(served) }()
	return server.URL(), func() { _ = server.Shutdown(context.Background()); <-served }, nil
}

func session(t *testing.T, start Start) (*Session, *strings.Builder) {
	t.Helper()
	var out strings.Builder
	delays := someDelays()
	return &Session{Store: Store{t.TempDir()}, Start: start, Out: &out, Progress: io.Discard, Delays: &delays, perturbed: 4, attempts: 1, seeds: []uint64{7}}, &out
}

// An experiment goes all the way: predicted, run on a live simulator, compared,
// and shown. Whether the live values agree depends on how busy the machine is;
// what is replayed does not.
func TestPredictRunDiff(t *testing.T) {
	s, out := session(t, inProcess)
	all := []Experiment{small()}
	if err := s.Run(t.Context(), all); err == nil || !strings.Contains(err.Error(), "write it before the run, with: llmsim-bench experiments predict E3") {
		t.Fatalf("without a prediction: %v", err)
	}
	for range 2 { // the second time it stands
		if err := s.Predict(t.Context(), all, false); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(out.String(), "the prediction stands") {
		t.Error(out.String())
	}
	if err := s.Run(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Diff(all); err != nil {
		t.Fatal(err)
	}
	c, err := s.Compare("E3")
	if err != nil {
		t.Fatal(err)
	}
	if c.Replayed < 100 || c.Differ != 0 {
		t.Errorf("%d requests were replayed, %d differ", c.Replayed, c.Differ)
	}
	r, err := s.Result("E3")
	if err != nil {
		t.Fatal(err)
	}
	one := r.Runs[0].find("one")
	if got, want := *one.Values["scheduled_tokens"].Simulated, float64(one.Accounting.OK*(64+8-1)); got != want {
		t.Errorf("the steps of the load computed %v tokens, its requests have %v", got, want)
	}
	for _, row := range c.Rows {
		for _, cell := range row.Cells {
			if cell.Measured == nil {
				t.Errorf("%s, seed %d was not measured", row.Key, cell.Seed)
			}
		}
		if n := row.Cells[0].Measured; row.Quantity == "left_tokens_max" && (n == nil || *n < 4 || *n >= 500) || row.Key == "leaving: completed" && *n != 0 {
			t.Errorf("%s is %v", row.Key, n)
		}
		if row.Quantity == "ttft_max" && (row.Cells[0].Client == nil || row.Cells[0].Server == nil) {
			t.Errorf("%s lacks a column", row.Key)
		}
	}
	e := small()
	drawn, err := e.draw(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := xml.Unmarshal(drawn, new(struct{})); err != nil || strings.Count(string(drawn), `class="bar"`) < 3 {
		t.Errorf("%v\n%s", err, drawn)
	}
}

func TestAStalePredictionIsNotRun(t *testing.T) {
	started := false
	s, _ := session(t, func(string, string) (string, func(), error) { started = true; return "", nil, errors.New("not now") })
	if err := s.Predict(t.Context(), []Experiment{small()}, false); err != nil {
		t.Fatal(err)
	}
	other := small()
	other.Cases[0].Model = smallCache
	var stale *StaleError
	if err := s.Run(t.Context(), []Experiment{other}); !errors.As(err, &stale) || started {
		t.Errorf("run: %v", err)
	}
	if err := s.Predict(t.Context(), []Experiment{other}, false); !errors.As(err, &stale) {
		t.Errorf("predict: %v", err)
	}
	if err := s.Predict(t.Context(), []Experiment{other}, true); err != nil {
		t.Errorf("predict anew: %v", err)
	}
	if err := s.Run(t.Context(), []Experiment{other}); err == nil || !strings.Contains(err.Error(), "not now") {
		t.Errorf("run: %v", err)
	}
}

// Every formula holds in virtual time, in the short variants of all experiments.
func TestFormulasHoldInVirtualTime(t *testing.T) {
	s, out := session(t, nil)
	unexplained, err := s.Quick(t.Context(), All(), "", AllVirtual)
	if err != nil || unexplained != 0 {
		t.Errorf("%d failed, %v\n%s", unexplained, err, out)
	}
	if n := strings.Count(out.String(), "agree\n"); n != len(All()) {
		t.Errorf("%d experiments were compared\n%s", n, out)
	}
	if entries, err := os.ReadDir(s.Dir); err != nil || len(entries) != 0 {
		t.Errorf("%v was written, %v", entries, err)
	}
}

// A short variant looks at the prediction that is kept, too.
func TestQuickFindsAStalePrediction(t *testing.T) {
	s, _ := session(t, nil)
	if err := s.Predict(t.Context(), []Experiment{small()}, false); err != nil {
		t.Fatal(err)
	}
	other := small()
	other.Expect[0].Formula.Value++
	var stale *StaleError
	if _, err := s.Quick(t.Context(), []Experiment{other}, "", AllVirtual); !errors.As(err, &stale) {
		t.Error(err)
	}
}

func TestBadFolders(t *testing.T) {
	s, _ := session(t, nil)
	file := filepath.Join(s.Dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.Store = Store{file}
	if err := s.Predict(t.Context(), []Experiment{small()}, false); err == nil || !strings.Contains(err.Error(), "give another folder with --results") {
		t.Error(err)
	}
}

func TestBadFiles(t *testing.T) {
	s, _ := session(t, nil)
	path := s.path("E3", predictionFile)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	for text, says := range map[string]string{"{": "unexpected end", `{"schema":9,"id":"E3"}`: "must be schema 1", `{"schema":1,"id":"E4"}`: `of "E4"`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Prediction("E3"); err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestList(t *testing.T) {
	s, out := session(t, nil)
	if err := s.Predict(t.Context(), []Experiment{small()}, false); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	changedOne := small()
	changedOne.Cases[0].Name = "uno"
	changedOne.Expect = changedOne.Expect[3:]
	for _, c := range []struct {
		e    Experiment
		says string
	}{{small(), "predicted"}, {changedOne, "stale: its definition"}, {admission(), "no prediction"}} {
		out.Reset()
		if err := s.List([]Experiment{c.e}); err != nil || !strings.Contains(out.String(), c.says) {
			t.Errorf("%v\n%s, want %s", err, out, c.says)
		}
	}
}
