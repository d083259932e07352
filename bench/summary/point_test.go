package summary_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"llmsim-bench/bench/summary"
	"llmsim-bench/internal/hist"
	"llmsim-bench/internal/wire"
)

func TestMergeServer(t *testing.T) {
	p := point(t, oneSecond(1), request(0))
	one := func(v float64) *hist.Stats {
		return &hist.Stats{Count: 1, Mean: v, P50: v, P90: v, P95: v, P99: v, Max: v}
	}
	p.MergeServer(wire.Model{
		Requests:            wire.Requests{Received: 3, Completed: 3},
		BackpressuredTokens: 9,
		Metrics: map[string]wire.Columns{
			"ttft": {Client: one(99), Server: one(20), Simulated: one(19)},
			"tpot": {Server: one(4), Simulated: &hist.Stats{}},
			"lag":  {Server: one(5.5)},
			"none": {Server: &hist.Stats{}},
		},
	}, summary.LagEnvelope)

	if c := p.Metrics["ttft"]; c.Client.P50 != 21 || c.Server.P50 != 20 || c.Simulated.P50 != 19 {
		t.Errorf("ttft %+v %+v %+v; want client 21, server 20, simulated 19", c.Client, c.Server, c.Simulated)
	}
	if c := p.Metrics["tpot"]; c.Server == nil || c.Simulated != nil {
		t.Errorf("tpot %+v; a column without values should be absent", c)
	}
	if c := p.Metrics["e2e"]; c.Server != nil || c.Simulated != nil {
		t.Errorf("e2e %+v; the server said nothing of it", c)
	}
	if c, there := p.Metrics["none"]; there {
		t.Errorf("a metric without any column is %+v", c)
	}
	if p.Lateness == nil || *p.Lateness != (summary.Lateness{ServerLate: true, LagP99MS: 5.5, LagEnvelopeMS: 5}) {
		t.Errorf("lateness %+v", p.Lateness)
	}
	if len(p.Notes) != 2 || !strings.Contains(p.Notes[0], "completed 3 requests, the client saw 1 ok (+2)") ||
		!strings.Contains(p.Notes[1], "9 tokens waited") {
		t.Errorf("notes %q", p.Notes)
	}
}

func TestLagInsideTheEnvelopeIsNotLate(t *testing.T) {
	p := point(t, oneSecond(1), request(0))
	p.MergeServer(wire.Model{
		Requests: wire.Requests{Completed: 1},
		Metrics:  map[string]wire.Columns{"lag": {Server: &hist.Stats{Count: 1, P99: 5}}},
	}, summary.LagEnvelope)
	if p.Lateness == nil || p.ServerLate || len(p.Notes) != 0 {
		t.Errorf("lateness %+v, notes %q", p.Lateness, p.Notes)
	}
}

func TestJSONFormOfAPoint(t *testing.T) {
	p := point(t, oneSecond(1), request(0))
	keys := func() []string {
		t.Helper()
		data, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		var object map[string]json.RawMessage
		if err := json.Unmarshal(data, &object); err != nil {
			t.Fatal(err)
		}
		var names []string
		for name := range object {
			names = append(names, name)
		}
		slices.Sort(names)
		return names
	}
	bare := []string{
		"accounting", "achieved_rps", "backlog", "duration_s", "histograms", "metrics", "offered_rps", "output_tokens_per_s",
	}
	if got := keys(); !slices.Equal(got, bare) {
		t.Errorf("keys of a point of another server\n got %q\nwant %q", got, bare)
	}

	health, err := summary.NewHealth(map[string]any{"verdict": "suspect", "reasons": []string{"late"}, "wakeup_p99_ms": 7.5})
	if err != nil {
		t.Fatal(err)
	}
	p.Health = health
	p.Lateness = &summary.Lateness{LagP99MS: 1, LagEnvelopeMS: 5}
	full := append(slices.Clone(bare), "health", "lag_envelope_ms", "lag_p99_ms", "server_late")
	slices.Sort(full)
	if got := keys(); !slices.Equal(got, full) {
		t.Errorf("keys of a point of the simulator\n got %q\nwant %q", got, full)
	}

	data, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var back summary.Point
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	p.FailureExamples, p.Flags = nil, nil // empty ones are left out
	if !reflect.DeepEqual(back, p) {
		t.Errorf("read back\n%+v\nwritten\n%+v", back, p)
	}
	if !strings.Contains(string(data), `"wakeup_p99_ms":7.5`) {
		t.Errorf("the figures of the health report are lost: %s", data)
	}
}

func TestHealthRefusesWhatIsNoReport(t *testing.T) {
	for _, report := range []any{nil, "ok", map[string]any{"reasons": []string{"x"}}, map[string]any{"verdict": 3}, func() {}} {
		if h, err := summary.NewHealth(report); err == nil || !strings.Contains(err.Error(), "health report") {
			t.Errorf("%T: %+v, error %v", report, h, err)
		}
	}
}
