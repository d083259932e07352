package plot

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

func chart() *Chart {
	return &Chart{
		Title: `A <title> & "more"`, Y: "ms", X: "load",
		Columns: []Column{
			{"one", []Mark{{Low: 4, High: 6, Predicted: 5, Measured: []float64{4.9, 5.1}, Client: []float64{5.3}}}},
			{"two", []Mark{{Low: 90, High: 120, Predicted: 100, Measured: []float64{101}}, {Low: 1, High: 2, Predicted: 1.5}}},
		},
	}
}

// elements reads an SVG to its end and counts its elements by name and class.
func elements(t *testing.T, svg []byte) map[string]int {
	t.Helper()
	count := make(map[string]int)
	decoder := xml.NewDecoder(strings.NewReader(string(svg)))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return count
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, svg)
		}
		start, isStart := token.(xml.StartElement)
		if !isStart {
			continue
		}
		name := start.Name.Local
		for _, a := range start.Attr {
			if a.Name.Local == "class" {
				name += "." + a.Value
			}
			if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
				t.Errorf("%s has %s=%q", name, a.Name.Local, a.Value)
			}
		}
		count[name]++
	}
}

func TestEverythingIsDrawn(t *testing.T) {
	for _, log := range []bool{false, true} {
		c := chart()
		c.Log = log
		got := elements(t, c.SVG())
		// One more of each is the legend's.
		for name, want := range map[string]int{"svg": 1, "rect.bar": 4, "line.predicted": 4, "circle.measured": 4, "circle.client": 2} {
			if got[name] != want {
				t.Errorf("log %v: %d of %s, want %d", log, got[name], name, want)
			}
		}
		if got["line.grid"] < 3 || got["line.grid"] > 12 {
			t.Errorf("log %v: %d grid lines", log, got["line.grid"])
		}
	}
}

func TestChartsOfNothingAndOfZero(t *testing.T) {
	for _, c := range []*Chart{
		{},
		{Log: true, Columns: []Column{{"zero", []Mark{{Measured: []float64{0}}}}}},
		{Columns: []Column{{"zero", []Mark{{Measured: []float64{0}}}}}},
	} {
		elements(t, c.SVG())
	}
}

// A larger value stands higher, and all of them within the frame.
func TestScale(t *testing.T) {
	for _, log := range []bool{false, true} {
		c := chart()
		c.Log = log
		s := c.scale()
		last := float64(height)
		for _, v := range []float64{1.5, 5, 101, 120} {
			y := s.y(v)
			if y >= last || y < top || y > height-bottom {
				t.Errorf("log %v: %v stands at %v, after %v", log, v, y, last)
			}
			last = y
		}
	}
}
