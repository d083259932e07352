package report_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"llmsim-bench/bench/report"
)

// screen plays what was written onto one line of a terminal.
func screen(written string) (line string, cursor int) {
	var cells []rune
	for _, r := range written {
		if r == '\r' {
			cursor = 0
			continue
		}
		if cursor == len(cells) {
			cells = append(cells, ' ')
		}
		cells[cursor] = r
		cursor++
	}
	return strings.TrimRight(string(cells), " "), cursor
}

func TestProgress(t *testing.T) {
	var written bytes.Buffer
	p := report.NewProgress(&written, true)
	p.Clear()
	if written.Len() != 0 {
		t.Errorf("cleared %q before anything was shown", written.String())
	}
	show := func(s report.Status, want string) {
		t.Helper()
		p.Update(s)
		if line, _ := screen(written.String()); line != want {
			t.Errorf("the screen shows\n%q; want\n%q", line, want)
		}
	}
	s := report.Status{Load: "rate 20/s", Phase: "measure", OK: 57, Running: 3, Left: 11*time.Second + 1}
	show(s, "rate 20/s  [measure]  ok 57 failed 0 running 3    12 s left")
	s.Left = 2*time.Minute + 5*time.Second
	show(s, "rate 20/s  [measure]  ok 57 failed 0 running 3  2 min 05 s left")
	s.Left = -time.Second
	show(s, "rate 20/s  [measure]  ok 57 failed 0 running 3     0 s left")
	p.Clear()
	if line, cursor := screen(written.String()); line != "" || cursor != 0 {
		t.Errorf("after Clear the screen shows %q, the cursor stands at %d", line, cursor)
	}
	if strings.Contains(written.String(), "\n") {
		t.Error("the progress line moved the terminal on")
	}
}

func TestProgressIsSilentWithoutATerminal(t *testing.T) {
	var written bytes.Buffer
	p := report.NewProgress(&written, false)
	p.Update(report.Status{Load: "rate 20/s"})
	p.Clear()
	if written.Len() != 0 {
		t.Errorf("wrote %q", written.String())
	}
}
