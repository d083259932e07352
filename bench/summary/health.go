package summary

import (
	"encoding/json"
	"fmt"
)

// Health is the client's report on itself. This package reads the verdict and
// its reasons and keeps the rest of the report as it was given.
type Health struct {
	Verdict string   // ok, suspect or limited
	Reasons []string // why it is not ok

	report json.RawMessage
}

// NewHealth takes a report whose JSON form is an object with a string "verdict"
// and, where there are any, a list of strings "reasons".
func NewHealth(report any) (Health, error) {
	data, err := json.Marshal(report)
	if err != nil {
		return Health{}, fmt.Errorf("health report: %w", err)
	}
	var h Health
	if err := h.UnmarshalJSON(data); err != nil {
		return Health{}, err
	}
	return h, nil
}

// MarshalJSON returns the report as it was given.
func (h Health) MarshalJSON() ([]byte, error) {
	if h.report == nil {
		return []byte("null"), nil
	}
	return h.report, nil
}

// UnmarshalJSON reads a report.
func (h *Health) UnmarshalJSON(data []byte) error {
	var read struct {
		Verdict string   `json:"verdict"`
		Reasons []string `json:"reasons"`
	}
	if err := json.Unmarshal(data, &read); err != nil {
		return fmt.Errorf("health report: %w", err)
	}
	if read.Verdict == "" {
		return fmt.Errorf("health report %.80q has no \"verdict\"", data)
	}
	*h = Health{Verdict: read.Verdict, Reasons: read.Reasons, report: append(json.RawMessage(nil), data...)}
	return nil
}
