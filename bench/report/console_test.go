package report_test

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"llmsim-bench/bench/record"
	"llmsim-bench/bench/report"
	"llmsim-bench/bench/summary"
	"llmsim-bench/internal/hist"
	"llmsim-bench/internal/wire"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// around returns statistics whose p50 and p99 are the values.
func around(p50, p99 float64) *hist.Stats {
	return &hist.Stats{Count: 100, Mean: p50, P50: p50, P90: p50, P95: p99, P99: p99, Max: p99}
}

func health(t *testing.T, verdict string, reasons ...string) summary.Health {
	t.Helper()
	h, err := summary.NewHealth(map[string]any{"verdict": verdict, "reasons": reasons})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// quiet is a point at which nothing happened that needs a remark.
func quiet(t *testing.T) summary.Point {
	return summary.Point{
		OfferedRPS: 20, DurationS: 5, AchievedRPS: 19.8, OutputTokensPerS: 1267.2,
		Accounting: record.Accounting{Scheduled: 103, OK: 103},
		Health:     health(t, "ok"),
		Lateness:   &summary.Lateness{LagP99MS: 0.21, LagEnvelopeMS: 5},
		Metrics: map[string]wire.Columns{
			"ttft":           {Client: around(7.61, 9.123), Server: around(7.2, 7.4), Simulated: around(7.12, 7.12)},
			"tpot":           {Client: around(4.01, 4.2), Server: around(4, 4), Simulated: around(4, 4)},
			"e2e":            {Client: around(259.63, 262), Server: around(259.31, 260), Simulated: around(259.12, 259.12)},
			"ttft_sent":      {Client: around(7.5, 8.9)},
			"e2e_sent":       {Client: around(259.5, 261.2)},
			"dispatch_delay": {Client: around(0.03, 0.12)},
			"send_delay":     {Client: around(0.11, 0.3)},
		},
	}
}

func overloaded(t *testing.T) summary.Point {
	measured := 1830.0
	p := quiet(t)
	p.OfferedRPS, p.AchievedRPS = 312.5, 41.25
	p.Accounting = record.Accounting{
		Scheduled: 1540, OK: 200, Failed: 1300, Cancelled: 30, Running: 10,
		FailedByKind: map[string]int64{"timeout": 1200, "http_5xx": 100},
	}
	p.FailureExamples = map[string]string{"http_5xx": "503 Service Unavailable:\n\x1b[31mdraining\x1b[0m"}
	p.Health = health(t, "limited", "wake-up lateness p99 31 ms > 25 ms", "process CPU 91 % > 80 %")
	p.Lateness = &summary.Lateness{ServerLate: true, LagP99MS: 6.1, LagEnvelopeMS: 5}
	p.Metrics["ttft"] = wire.Columns{Client: around(1630.2, 15000), Server: around(900.04, 14000), Simulated: around(880, 13990)}
	delete(p.Metrics, "tpot")
	p.Flags = map[string]int64{"short_output": 3}
	p.PromptTokenMismatches, p.TokensFromEvents, p.TokensEstimated, p.AmbiguousEvents = 1, 2, 4, 37
	p.Backlog = &summary.Backlog{Start: 12, End: 1380, Max: 1381, GrowthPerS: 272.4, Unstable: true}
	p.Accounting.CancelledByKind = map[string]int64{record.LeftAfterTokens: 30}
	p.Accounting.RetriedByKind = map[string]int64{record.KindRateLimited: 12}
	p.SendSpreadMS = 7
	p.SLO = []summary.ObjectiveResult{
		{Objective: "ttft_p99<=2s", LimitMS: 2000, MeasuredMS: &measured, Met: true},
		{Objective: "tpot_p50<=10ms", LimitMS: 10},
	}
	p.Notes = []string{"the server completed 203 requests, the client saw 200 ok (+3): their columns are not over the same requests"}
	return p
}

func clientOnly(p summary.Point) summary.Point {
	p.Lateness = nil
	metrics := make(map[string]wire.Columns)
	for name, c := range p.Metrics {
		metrics[name] = wire.Columns{Client: c.Client}
	}
	p.Metrics = metrics
	return p
}

func result(points ...summary.Point) *report.Result {
	return &report.Result{
		Schema: report.Schema, ToolVersion: "0.1.0",
		Started:   time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		TargetURL: "http://127.0.0.1:8080/v1", Model: "sim-fixed", Seed: 1, Points: points,
	}
}

func TestConsole(t *testing.T) {
	closed := clientOnly(quiet(t))
	closed.OfferedRPS, closed.Concurrency = 0, 16
	closed.Health = summary.Health{}
	leaky := quiet(t)
	leaky.Accounting.Scheduled++

	idle := quiet(t)
	idle.OfferedRPS, idle.AchievedRPS, idle.OutputTokensPerS = 0.01, 0, 0
	idle.Accounting, idle.Metrics, idle.Lateness = record.Accounting{}, nil, nil

	burst := clientOnly(quiet(t))
	burst.OfferedRPS, burst.Arrivals, burst.SendSpreadMS = 200, "burst of 1000", 21.34
	burst.Backlog = &summary.Backlog{Start: 1000, End: 0, Max: 1000, GrowthPerS: -60}

	cut := result(quiet(t))
	cut.Interrupted = true
	cut.Notes = []string{"the server is not known to take ignore_eos"}

	for _, test := range []struct {
		name   string
		result *report.Result
		width  int
	}{
		{"quiet", result(quiet(t), quiet(t)), 0},
		{"quiet_80", result(quiet(t), quiet(t)), 80},
		{"overloaded", result(quiet(t), overloaded(t)), 0},
		{"other_server", result(clientOnly(quiet(t)), clientOnly(quiet(t))), 0},
		{"closed_loop", result(closed), 0},
		{"burst", result(burst), 0},
		{"leaky_accounting", result(quiet(t), leaky), 0},
		{"interrupted", cut, 0},
		{"nothing_measured", result(), 0},
		{"nothing_due", result(quiet(t), idle), 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			var text bytes.Buffer
			if err := report.WriteConsole(&text, test.result, test.width); err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", test.name+".golden")
			if *update {
				if err := os.WriteFile(golden, text.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if text.String() != string(want) {
				t.Errorf("differs from %s (rewrite with -update)\n--- got\n%s\n--- want\n%s", golden, text.String(), want)
			}
			for line := range strings.Lines(text.String()) {
				if trimmed := strings.TrimSuffix(line, "\n"); strings.HasSuffix(trimmed, " ") || strings.ContainsRune(trimmed, '\x1b') {
					t.Errorf("line %q ends in a space or holds an escape", trimmed)
				}
			}
		})
	}
}

func TestTablesFitTheWidth(t *testing.T) {
	for _, test := range []struct{ width, limit int }{{80, 80}, {100, 100}, {140, 140}, {0, 140}} {
		var text bytes.Buffer
		if err := report.WriteConsole(&text, result(quiet(t)), test.width); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(text.String()) {
			if strings.HasPrefix(line, "accounting:") { // a sentence, which the terminal wraps
				continue
			}
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > test.limit {
				t.Errorf("width %d: a line of %d columns: %s", test.width, n, line)
			}
		}
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space") }

func TestConsoleReportsAFailedWrite(t *testing.T) {
	if err := report.WriteConsole(fullDisk{}, result(), 0); err == nil {
		t.Error("a failed write went unnoticed")
	}
}
