package experiments

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"

	"llmsim-bench/bench"
	"llmsim-bench/bench/load"
	"llmsim-bench/bench/summary"
	"llmsim-bench/experiments/simulate"
	"llmsim-bench/internal/wire"
	"llmsim-bench/simserver/config"
)

// Start starts a simulator in a process of its own that serves the models of a
// file and writes an event log, and returns its base URL. stop ends it, and
// returns when the log has its name.
type Start func(modelsFile, eventLog string) (baseURL string, stop func(), err error)

// simulator is a simulator that serves one model.
type simulator struct {
	url      string
	stop     func()
	models   *config.Config
	dir      string // of its own
	eventLog string
}

func startSimulator(start Start, m Model, timeScale float64) (s *simulator, err error) {
	data, err := m.YAML(timeScale)
	if err != nil {
		return nil, err
	}
	s = &simulator{}
	if s.models, err = config.Parse(m.String(), data); err != nil {
		return nil, err
	}
	if s.dir, err = os.MkdirTemp("", "llmsim-experiment-"); err != nil {
		return nil, err
	}
	s.eventLog = filepath.Join(s.dir, "events.jsonl")
	file := filepath.Join(s.dir, "models.yml")
	if err = os.WriteFile(file, data, 0o600); err == nil {
		s.url, s.stop, err = start(file, s.eventLog)
	}
	if err != nil {
		s.remove()
		return nil, err
	}
	return s, nil
}

// remove removes what the simulator has left on the disk.
func (s *simulator) remove() { _ = os.RemoveAll(s.dir) } // a temporary directory

// live puts a case on a simulator of its own and replays what its engine did.
func live(ctx context.Context, start Start, c *Case, seed uint64, version string) (*outcome, error) {
	w, err := c.workload(seed)
	if err != nil {
		return nil, err
	}
	s, err := startSimulator(start, c.Model, c.scale())
	if err != nil {
		return nil, err
	}
	defer s.remove()
	point, err := s.measure(ctx, bench.Config{URL: s.url, Workload: w, Leave: leaving(c, seed), Version: version})
	s.stop()
	if err != nil {
		return nil, fmt.Errorf("case %s: %w", c.Name, err)
	}
	replay, err := s.replay()
	if err != nil {
		return nil, fmt.Errorf("case %s: replay its event log: %w", c.Name, err)
	}
	return &outcome{point: point, replay: replay}, nil
}

// leaving is who leaves, drawn from a seed like the rest of the load.
func leaving(c *Case, seed uint64) load.Leave {
	l := c.Leave
	l.Seed = seed
	return l
}

// measure puts the one load of a configuration on the simulator.
func (s *simulator) measure(ctx context.Context, config bench.Config) (*summary.Point, error) {
	server, err := url.Parse(s.url)
	if err != nil {
		return nil, err
	}
	server.Path = "/metrics/summary"
	account := server.String()
	config.BeforeLoad = func(ctx context.Context, _ int) error {
		_, err := ask(ctx, http.MethodPost, account+"/reset")
		return err
	}
	result, err := bench.Run(ctx, config)
	if err != nil {
		return nil, err
	}
	if result.Interrupted || len(result.Points) == 0 {
		return nil, errors.Join(errors.New("stopped early"), ctx.Err())
	}
	body, err := ask(ctx, http.MethodGet, account)
	if err != nil {
		return nil, err
	}
	var all wire.Summary
	if err := json.Unmarshal(body, &all); err != nil {
		return nil, fmt.Errorf("GET %s: %w", account, err)
	}
	point := &result.Points[0]
	point.Steps = all.Models[s.models.Models[0].Name].Steps
	return point, nil
}

// ask makes one request and returns its answer.
func ask(ctx context.Context, method, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode/100 != 2 {
		err = fmt.Errorf("%s %s answers with status %d", method, url, answer.StatusCode)
	}
	return body, err
}

// replay repeats in virtual time what the engine did.
func (s *simulator) replay() (*simulate.Replayed, error) {
	log, err := os.Open(s.eventLog)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	all, err := simulate.Replay(log, s.models)
	if err != nil {
		return nil, err
	}
	return &all[0], nil
}
