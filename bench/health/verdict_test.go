package health

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"llmsim-bench/internal/hist"

	"pgregory.net/rapid"
)

func TestVerdictAtEachThreshold(t *testing.T) {
	late := func(ms float64) Report { return Report{Lateness: hist.Stats{P99: ms}, Cores: 2} }
	busy := func(share float64) Report { return Report{ProcessCPU: &share, Cores: 2} }
	bound := func(ms float64) map[string]Bound { return map[string]Bound{"ttft_p99": {ms, 200}} }
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
		{"99 % dispatched", Report{}, Counts{200, 198}, nil, OK, ""},
		{"less than 99 % dispatched", Report{}, Counts{200, 197}, nil, Limited, "The client dispatched 197 of 200 due requests, fewer than 99 %."},
		{"bound at 5 %", Report{}, all, bound(10), OK, ""},
		{"bound past 5 %", Report{}, all, bound(10.2), Suspect, "Up to 10.2 ms of ttft_p99, 200.0 ms, may be the client's own delay: 5.1 %, more than 5 %."},
		{"bound at 25 %", Report{}, all, bound(50), Suspect, "25.0 %, more than 5 %."},
		{"bound past 25 %", Report{}, all, bound(50.2), Limited, "25.1 %, more than 25 %."},
		{"bound of nothing", Report{}, all, map[string]Bound{"ttft_p50": {0, 0}}, OK, ""},
	} {
		v := Judge(c.report, c.counts, c.bounds)
		if v.Verdict != c.want {
			t.Errorf("%s: verdict %s, want %s", c.name, v.Verdict, c.want)
		}
		if (c.reason == "") != (len(v.Reasons) == 0) || !strings.HasSuffix(strings.Join(v.Reasons, " "), c.reason) {
			t.Errorf("%s: reasons %q, want %q", c.name, v.Reasons, c.reason)
		}
	}
}

func TestTheWorstReasonDecides(t *testing.T) {
	share := 0.9
	r := Report{Lateness: hist.Stats{P99: 30}, ProcessCPU: &share, Cores: 4}
	v := Judge(r, Counts{10, 10}, map[string]Bound{"ttft_p99": {6, 100}, "e2e_p50": {7, 100}})
	if v.Verdict != Limited || len(v.Reasons) != 4 {
		t.Fatalf("verdict %s for %q, want limited for four reasons", v.Verdict, v.Reasons)
	}
	if !strings.Contains(v.Reasons[2], "e2e_p50") || !strings.Contains(v.Reasons[3], "ttft_p99") {
		t.Errorf("reasons %q, want the bounds in the order of their names", v.Reasons)
	}
}

func TestVerdictAsJSON(t *testing.T) {
	share := 0.25
	v := Judge(Report{Lateness: hist.Stats{Count: 3, P99: 1}, ProcessCPU: &share, Cores: 2},
		Counts{4, 4}, map[string]Bound{"ttft_p99": {1, 100}})
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
	ms := func(values ...int64) []int64 {
		for i := range values {
			values[i] *= 1e6
		}
		return values
	}
	// Without the client's 40 ms, the slowest request takes 60 ms, and another,
	// of 90 ms, is the slowest.
	observed, added := ms(100, 90, 10, 20), ms(40, 0, 0, 5)
	if got, want := BoundOf(observed, added, 1), (Bound{10, 100}); got != want {
		t.Errorf("bound of the maximum %v, want %v", got, want)
	}
	if got, want := BoundOf(observed, added, 0.5), (Bound{5, 20}); got != want {
		t.Errorf("bound of the median %v, want %v", got, want)
	}
	if !slices.Equal(observed, ms(100, 90, 10, 20)) {
		t.Errorf("the latencies were changed to %v", observed)
	}
	if got := BoundOf(nil, nil, 0.99); got != (Bound{}) {
		t.Errorf("bound of nothing %v, want zero", got)
	}
}

// TestBoundLimits: a client that adds the same to every request has added just
// that, and no bound is less than nothing or more than the largest delay.
func TestBoundLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		observed := rapid.SliceOfN(rapid.Int64Range(1e6, 1e9), 1, 50).Draw(t, "observed")
		q := rapid.Float64Range(0, 1).Draw(t, "q")
		same := make([]int64, len(observed))
		for i := range same {
			same[i] = 500_000
		}
		if got := BoundOf(observed, same, q); got.BoundMS != 0.5 {
			t.Fatalf("bound %v ms of an even 0.5 ms", got.BoundMS)
		}
		added := rapid.SliceOfN(rapid.Int64Range(0, 1e6), len(observed), len(observed)).Draw(t, "added")
		if got := BoundOf(observed, added, q).BoundMS; got < 0 || got > float64(slices.Max(added))/1e6 {
			t.Fatalf("bound %v ms, want 0 to the largest delay, %d ns", got, slices.Max(added))
		}
	})
}
