// Package report shows what a run measured: the JSON file, the table on the
// console and the progress line while it runs. Summaries of load points go in;
// bytes come out. It computes no figure and knows nothing of how the load was
// made.
package report

import (
	"encoding/json"
	"fmt"
	"time"

	"llmsim-bench/bench/summary"
	"llmsim-bench/internal/wholefile"
)

// Schema is the version of Result's JSON form.
const Schema = 1

// Result is everything a run leaves behind.
type Result struct {
	Schema      int    `json:"schema"`
	ToolVersion string `json:"tool_version"`
	// Started is wall time, for people. What was computed in virtual time has
	// neither it nor a Machine nor a TargetURL: it is the same everywhere.
	Started   time.Time `json:"started,omitzero"`
	TargetURL string    `json:"target_url,omitempty"`
	Model     string    `json:"model"`
	// Configuration is the full resolved configuration, without secrets.
	Configuration any             `json:"configuration"`
	Seed          uint64          `json:"seed"`
	Machine       Machine         `json:"machine,omitzero"`
	Points        []summary.Point `json:"points"`
	Notes         []string        `json:"notes,omitempty"`
	// Interrupted says that the run was stopped before its last point was done.
	Interrupted bool `json:"interrupted"`
}

// WriteJSON writes the result to path, which holds either what it held before
// or the complete result, never a part. It refuses a result with a number that
// JSON can't hold, such as NaN.
func (r *Result) WriteJSON(path string) error {
	if err := wholefile.WriteJSON(path, r); err != nil {
		return fmt.Errorf("result %s: %w", path, r.blame(err))
	}
	return nil
}

// blame adds to an encoder's error which part of the result it is about.
func (r *Result) blame(err error) error {
	if _, configErr := json.Marshal(r.Configuration); configErr != nil {
		return fmt.Errorf("configuration: %w", configErr)
	}
	for i := range r.Points {
		p := &r.Points[i]
		for name, columns := range p.Metrics {
			if _, metricErr := json.Marshal(columns); metricErr != nil {
				return fmt.Errorf("point %d (%s), metric %s: %w", i+1, rateOf(p), name, metricErr)
			}
		}
		if _, pointErr := json.Marshal(p); pointErr != nil {
			return fmt.Errorf("point %d (%s): %w", i+1, rateOf(p), pointErr)
		}
	}
	return err
}
