package summary

import (
	"fmt"
	"time"

	"llmsim-bench/internal/hist"
	"llmsim-bench/internal/wire"
)

// LagEnvelope is the lag p99 up to which a simulator's observed figures are
// taken to be the simulation's own.
const LagEnvelope = 5 * time.Millisecond

// Lateness says how late the simulator wrote its tokens.
type Lateness struct {
	// ServerLate says that LagP99MS is past the envelope: the simulated figures
	// hold, the observed ones carry the simulator's own overhead.
	ServerLate    bool    `json:"server_late"`
	LagP99MS      float64 `json:"lag_p99_ms"`
	LagEnvelopeMS float64 `json:"lag_envelope_ms"`
}

// MergeServer fills the server and simulated columns from the server's summary
// of the same phase and model. A disagreement between the two sides becomes a
// note.
func (p *Point) MergeServer(model wire.Model, envelope time.Duration) {
	for name, theirs := range model.Metrics {
		ours := p.Metrics[name]
		ours.Server, ours.Simulated = present(theirs.Server), present(theirs.Simulated)
		if ours != (wire.Columns{}) {
			p.Metrics[name] = ours
		}
	}
	p.Steps, p.ServerRequests = model.Steps, &model.Requests
	if lag := p.Metrics[Lag].Server; lag != nil {
		envelopeMS := float64(envelope) / 1e6
		p.Lateness = &Lateness{ServerLate: lag.P99 > envelopeMS, LagP99MS: lag.P99, LagEnvelopeMS: envelopeMS}
	}
	if completed := model.Requests.Completed; completed != p.Accounting.OK {
		p.Notes = append(p.Notes, fmt.Sprintf(
			"the server completed %d requests, the client saw %d ok (%+d): their columns are not over the same requests",
			completed, p.Accounting.OK, completed-p.Accounting.OK))
	}
	if n := model.BackpressuredTokens; n > 0 {
		p.Notes = append(p.Notes, fmt.Sprintf(
			"%d tokens waited on the server because the client read slowly; they have no lag", n))
	}
}

// present returns nil for a column without values.
func present(s *hist.Stats) *hist.Stats {
	if s == nil || s.Count == 0 {
		return nil
	}
	return s
}
