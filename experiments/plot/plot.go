// Package plot draws what was predicted beside what was measured, as an SVG that
// can be read on a light and on a dark page. Numbers go in, bytes come out; the
// same numbers give the same bytes.
package plot

import (
	"encoding/xml"
	"fmt"
	"math"
	"strings"
)

// Chart is one plot: a column for each thing that was measured.
type Chart struct {
	Title string
	// Y is the quantity with its unit, X says what tells the columns apart.
	Y, X string
	// Log makes the Y axis logarithmic; what is not above 0 is then left out.
	Log     bool
	Columns []Column
}

// Column is one place on the X axis.
type Column struct {
	Label string
	Marks []Mark
}

// Mark is one prediction with what came of it.
type Mark struct {
	Low, High float64 // what agrees
	Predicted float64
	Measured  []float64 // one a run
	// Client is what the load generator saw, where that is another column.
	Client []float64
}

// The form, in pixels.
const (
	width, height            = 720, 340
	left, right, top, bottom = 72, 16, 40, 62
	barWidth                 = 22
)

const style = `<style>
text{font:12px system-ui,sans-serif;fill:#333}
.title{font-size:14px;font-weight:600}
.grid{stroke:#ddd}
.bar{fill:#9ec5e8;fill-opacity:.75}
.predicted{stroke:#1f5f99;stroke-width:2}
.measured{fill:#d1495b}
.client{fill:none;stroke:#5b8c3a;stroke-width:1.5}
@media (prefers-color-scheme:dark){
text{fill:#ddd}
.grid{stroke:#444}
.bar{fill:#2f5f8a}
.predicted{stroke:#9ec5e8}
.measured{fill:#ff8a98}
.client{stroke:#a5d47c}
}
</style>
`

// SVG draws the chart. It needs at least one value to place.
func (c *Chart) SVG() []byte {
	var out strings.Builder
	scale := c.scale()
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="%s">`+"\n", width, height, width, height, escaped(c.Title))
	out.WriteString(style)
	text(&out, left, 20, "start", "title", c.Title)
	for _, tick := range scale.ticks {
		y := scale.y(tick)
		fmt.Fprintf(&out, `<line class="grid" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/>`+"\n", left, width-right, y, y)
		text(&out, left-6, y+4, "end", "", label(tick))
	}
	fmt.Fprintf(&out, `<text x="16" y="%d" text-anchor="middle" transform="rotate(-90 16 %d)">%s</text>`+"\n", (top+height-bottom)/2, (top+height-bottom)/2, escaped(c.Y))
	step := float64(width-left-right) / float64(max(len(c.Columns), 1))
	for i, column := range c.Columns {
		middle := left + step*(float64(i)+0.5)
		text(&out, middle, height-bottom+16, "middle", "", column.Label)
		for k, mark := range column.Marks {
			x := middle + (float64(k)-float64(len(column.Marks)-1)/2)*min(step/float64(len(column.Marks)), 3*barWidth)
			mark.draw(&out, scale, x)
		}
	}
	text(&out, float64(left+width-right)/2, height-bottom+34, "middle", "", c.X)
	legend(&out)
	out.WriteString("</svg>\n")
	return []byte(out.String())
}

func (m *Mark) draw(out *strings.Builder, s scale, x float64) {
	if s.has(m.High) {
		high, low := s.y(m.High), s.y(max(m.Low, s.low))
		fmt.Fprintf(out, `<rect class="bar" x="%.1f" y="%.1f" width="%d" height="%.1f"/>`+"\n", x-barWidth/2, high, barWidth, max(low-high, 1))
	}
	if s.has(m.Predicted) {
		fmt.Fprintf(out, `<line class="predicted" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/>`+"\n", x-barWidth/2, x+barWidth/2, s.y(m.Predicted), s.y(m.Predicted))
	}
	points := func(class string, values []float64, radius float64) {
		for i, v := range values {
			if s.has(v) {
				at := x + (float64(i)-float64(len(values)-1)/2)*6
				fmt.Fprintf(out, `<circle class="%s" cx="%.1f" cy="%.1f" r="%.1f"/>`+"\n", class, at, s.y(v), radius)
			}
		}
	}
	points("client", m.Client, 4.5)
	points("measured", m.Measured, 2.6)
}

func legend(out *strings.Builder) {
	const y = height - 12
	fmt.Fprintf(out, `<rect class="bar" x="%d" y="%d" width="%d" height="10"/><line class="predicted" x1="%d" x2="%d" y1="%d" y2="%d"/>`+"\n",
		left, y-9, barWidth, left, left+barWidth, y-4, y-4)
	text(out, left+barWidth+6, y, "start", "", "predicted, with its interval")
	fmt.Fprintf(out, `<circle class="measured" cx="%d" cy="%d" r="2.6"/>`+"\n", left+250, y-4)
	text(out, left+260, y, "start", "", "simulated, a dot a run")
	fmt.Fprintf(out, `<circle class="client" cx="%d" cy="%d" r="4.5"/>`+"\n", left+440, y-4)
	text(out, left+450, y, "start", "", "what the client saw")
}

func text(out *strings.Builder, x, y float64, anchor, class, s string) {
	if class != "" {
		class = ` class="` + class + `"`
	}
	fmt.Fprintf(out, `<text%s x="%.1f" y="%.1f" text-anchor="%s">%s</text>`+"\n", class, x, y, anchor, escaped(s))
}

func escaped(s string) string {
	var out strings.Builder
	_ = xml.EscapeText(&out, []byte(s)) // a Builder never fails
	return out.String()
}

// label writes a tick without digits that say nothing.
func label(x float64) string {
	if math.Abs(x) >= 1e5 {
		return fmt.Sprintf("%.0fk", x/1e3)
	}
	return fmt.Sprintf("%g", x)
}
