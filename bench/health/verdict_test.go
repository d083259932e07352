package health

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"llmsim-bench/internal/hist"
)

func TestVerdictAtEachThreshold(t *testing.T) {
	late := func(ms float64) Report { return Report{Lateness: hist.Stats{P99: ms}, Cores: 2} }
	busy := func(share float64) Report { return Report{ProcessCPU: &share, Cores: 2} }
	bound := func(ms float64) map[string]Bound { return map[string]Bound{"ttft_p99": {ms, 200}} }
	open := func(n, limit int64) Report { return Report{Descriptors: &Descriptors{n, limit}} }
	ports := func(n int64) Report { return Report{Ports: &Ports{n, 1000}} }
	all := Counts{Due: 200, Dispatched: 200}
	for _, c := range []struct {
		name   string
		report Report
		counts Counts
		bounds map[string]Bound
		want   string
		reason string
	}{
		{"nothing known", Report{}, Counts{}, nil, OK, ""},
		{"lateness at 5 ms", late(5), all, nil, OK, ""},
		{"lateness past 5 ms", late(5.1), all, nil, Suspect, "The client's wake-ups were up to 5.1 ms late (p99), more than 5 ms."},
		{"lateness at 25 ms", late(25), all, nil, Suspect, "25.0 ms late (p99), more than 5 ms."},
		{"lateness past 25 ms", late(25.1), all, nil, Limited, "25.1 ms late (p99), more than 25 ms."},
		{"CPU at 80 %", busy(0.80), all, nil, OK, ""},
		{"CPU past 80 %", busy(0.805), all, nil, Suspect, "The client used 80.5 % of its 2 cores, more than 80 %."},
		{"descriptors at 80 %", open(80, 100), all, nil, OK, ""},
		{"descriptors past 80 %", open(81, 100), all, nil, Suspect, "The client had 81 of 100 file descriptors open, more than 80 %."},
		{"descriptors without a limit", open(81, 0), all, nil, OK, ""},
		{"ports at 80 %", ports(800), all, nil, OK, ""},
		{"ports past 80 %", ports(801), all, nil, Suspect, "The connections to the target took 801 of 1000 local ports, more than 80 %."},
		{"99 % dispatched", Report{}, Counts{200, 198}, nil, OK, ""},
		{"less than 99 % dispatched", Report{}, Counts{200, 197}, nil, Limited, "The client dispatched 197 of 200 due requests, fewer than 99 %."},
		{"bound at 5 %", Report{}, all, bound(10), OK, ""},
		{"bound past 5 %", Report{}, all, bound(10.2), Suspect, "Up to 10.2 ms of ttft_p99, 200.0 ms, may be the client's own delay: 5.1 %, more than 5 %."},
		{"bound at 25 %", Report{}, all, bound(50), Suspect, "25.0 %, more than 5 %."},
		{"bound past 25 %", Report{}, all, bound(50.2), Limited, "25.1 %, more than 25 %."},
		{"bound of nothing", Report{}, all, map[string]Bound{"ttft_p50": {0, 0}}, OK, ""},
	} {
		v := Evidence{Report: c.report, Counts: c.counts, Bounds: c.bounds}.Judge()
		if v.Verdict != c.want {
			t.Errorf("%s: verdict %s, want %s", c.name, v.Verdict, c.want)
		}
		if (c.reason == "") != (len(v.Reasons) == 0) || !strings.HasSuffix(strings.Join(v.Reasons, " "), c.reason) {
			t.Errorf("%s: reasons %q, want %q", c.name, v.Reasons, c.reason)
		}
	}
}

func TestAClockThatWasSetIsAReason(t *testing.T) {
	v := Evidence{ClockSteps: 2}.Judge()
	want := "The wall clock was set during the run (steps seen: 2); receive stamps near them are missing."
	if v.Verdict != Suspect || !slices.Equal(v.Reasons, []string{want}) || v.ClockSteps != 2 {
		t.Errorf("%d clock steps, verdict %s for %q", v.ClockSteps, v.Verdict, v.Reasons)
	}
}

func TestTheWorstReasonDecides(t *testing.T) {
	share := 0.9
	r := Report{Lateness: hist.Stats{P99: 30}, ProcessCPU: &share, Cores: 4}
	v := Evidence{Report: r, Counts: Counts{10, 10}, Bounds: map[string]Bound{"ttft_p99": {6, 100}, "e2e_p50": {7, 100}}}.Judge()
	if v.Verdict != Limited || len(v.Reasons) != 4 {
		t.Fatalf("verdict %s for %q, want limited for four reasons", v.Verdict, v.Reasons)
	}
	if !strings.Contains(v.Reasons[2], "e2e_p50") || !strings.Contains(v.Reasons[3], "ttft_p99") {
		t.Errorf("reasons %q, want the bounds in the order of their names", v.Reasons)
	}
}

func TestVerdictAsJSON(t *testing.T) {
	share := 0.25
	v := Evidence{
		Report: Report{Lateness: hist.Stats{Count: 3, P99: 1}, ProcessCPU: &share, Cores: 2},
		Counts: Counts{4, 4}, Bounds: map[string]Bound{"ttft_p99": {1, 100}},
	}.Judge()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"verdict":"ok",` +
		`"wakeup_lateness_ms":{"count":3,"mean":0,"p50":0,"p90":0,"p95":0,"p99":1,"max":0},` +
		`"process_cpu":0.25,"cores":2,"gc":{"cycles":0,"pause_ms":0,"max_pause_ms":0},` +
		`"requests":{"due":4,"dispatched":4},"bounds":{"ttft_p99":{"bound_ms":1,"percentile_ms":100}}}`
	if string(data) != want {
		t.Errorf("got  %s\nwant %s", data, want)
	}
}

func TestBoundOf(t *testing.T) {
	if got, want := BoundOf(100*time.Millisecond, 90*time.Millisecond), (Bound{10, 100}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}
