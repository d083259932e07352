package report

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// Progress keeps one line of a terminal up to date. It reads no clock: whoever
// calls it says how much time is left. It is not safe for concurrent use.
type Progress struct {
	w     io.Writer // nil where there is no terminal
	shown int       // columns of the line on the screen
}

// NewProgress returns a Progress on w, which writes nothing unless w is a
// terminal.
func NewProgress(w io.Writer, terminal bool) *Progress {
	if !terminal {
		w = nil
	}
	return &Progress{w: w}
}

// Status is what the line says.
type Status struct {
	Load                string // such as "rate 20/s"
	Phase               string
	OK, Failed, Running int64
	Left                time.Duration
}

// Update redraws the line.
func (p *Progress) Update(s Status) {
	p.draw(fmt.Sprintf("%s  [%s]  ok %d failed %d running %d  %6s left",
		s.Load, s.Phase, s.OK, s.Failed, s.Running, left(s.Left)))
}

// Clear erases the line, and must be called before anything else is printed.
func (p *Progress) Clear() {
	if p.shown > 0 {
		p.draw("")
		p.draw("") // the cursor back to the start
	}
}

// draw replaces the line on the screen. What a terminal does not take is lost:
// a progress line is worth no error.
func (p *Progress) draw(line string) {
	if p.w == nil {
		return
	}
	width := utf8.RuneCountInString(line)
	_, _ = io.WriteString(p.w, "\r"+line+strings.Repeat(" ", max(p.shown-width, 0)))
	p.shown = width
}

// left rounds up, so that 0 s means the end.
func left(d time.Duration) string {
	seconds := (max(d, 0) + time.Second - 1) / time.Second
	if seconds < 60 {
		return fmt.Sprintf("%d s", seconds)
	}
	return fmt.Sprintf("%d min %02d s", seconds/60, seconds%60)
}
