package selftest

import (
	"strings"
	"testing"
)

func TestWarnings(t *testing.T) {
	for _, c := range []struct {
		name             string
		requests, events float64
		streams          int
		want             []string
	}{
		{"within", 1000, 20_000, 500, nil},
		{"nothing known of the load", 0, 0, 0, nil},
		{"requests", 1001, 0, 0, []string{"The load is about 1001 requests/s, and the self-test found this machine to sustain 1000."}},
		{"events", 0, 30_000, 0, []string{"The load is about 30000 events/s, and the self-test found this machine to sustain 20000."}},
		{"more streams than were tried", 0, 0, 501, []string{"The load is about 501 streams at once, and the self-test of this machine tried no more than 500."}},
		{"CPU time", 1000, 400_000, 0, []string{
			"The load is about 400000 events/s, and",
			"By the costs that the self-test found, 1000 requests/s and 400000 events/s take 4.1 of this machine's 4 cores, more than 80 %.",
		}},
	} {
		got := someResult().Warnings(c.requests, c.events, c.streams)
		if len(got) != len(c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
			continue
		}
		for i := range got {
			if !strings.Contains(got[i], c.want[i]) {
				t.Errorf("%s: %q, want %q", c.name, got[i], c.want[i])
			}
		}
	}
	r := someResult()
	r.OthersCPU = 0.42
	want := "The load is about 1001 requests/s, and the self-test found this machine to sustain 1000, while other processes used 42 % of its CPU."
	if got := r.Warnings(1001, 0, 0); len(got) != 1 || got[0] != want {
		t.Errorf("measured on a busy machine: %q, want %q", got, want)
	}
	if got := (Result{}).Warnings(1e9, 1e9, 1e9); len(got) != 0 {
		t.Errorf("without a measurement: %q", got)
	}
}

func TestTable(t *testing.T) {
	r := someResult()
	r.Notes = []string{"Something was odd."}
	var b strings.Builder
	if err := r.WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"1000   requests/s  at 2000: Too much.",
		"500    streams     not reached",
		"9000   events/s",
		"100.0  µs",
		"10.00  µs",
		"lateness at 1000 requests/s",
		"0.200  3.000  ms",
		"0.100  1.000  ms",
		"2.0    3.0",
		"Some CPU, 4 cores, go1.26, llmsim-bench v1.",
		"Something was odd.",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
	b.Reset()
	if err := (Result{}).WriteTable(&b); err != nil || !strings.Contains(b.String(), "none") {
		t.Errorf("%v: of nothing\n%s", err, b.String())
	}
}
