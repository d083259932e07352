package experiments

import (
	"slices"

	"llmsim-bench/experiments/plot"
)

// Plot says what an experiment's plot shows: a quantity of its cases, predicted
// and simulated.
type Plot struct {
	Quantity string
	// Beside are further quantities of the same unit.
	Beside []string
	// Axis is the label below.
	Axis string
	// Log makes the quantity's axis logarithmic.
	Log bool
}

// draw makes the plot of an experiment.
func (e *Experiment) draw(c *Comparison) ([]byte, error) {
	q, err := quantityOf(e.Plot.Quantity)
	if err != nil {
		return nil, err
	}
	chart := plot.Chart{Title: e.ID + " " + e.Title + ": " + q.what, X: e.Plot.Axis, Y: q.unit, Log: e.Plot.Log}
	for _, name := range append([]string{e.Plot.Quantity}, e.Plot.Beside...) {
		for i := range c.Rows {
			r := &c.Rows[i]
			if r.Quantity != name || r.Over != "" {
				continue
			}
			at := slices.IndexFunc(chart.Columns, func(column plot.Column) bool { return column.Label == r.Case })
			if at < 0 {
				at = len(chart.Columns)
				chart.Columns = append(chart.Columns, plot.Column{Label: r.Case})
			}
			chart.Columns[at].Marks = append(chart.Columns[at].Marks, r.mark())
		}
	}
	return chart.SVG(), nil
}

// mark draws all seeds of a row as one.
func (r *Row) mark() plot.Mark {
	m := plot.Mark{Low: r.Cells[0].Low, High: r.Cells[0].High}
	for i := range r.Cells {
		c := &r.Cells[i]
		m.Low, m.High = min(m.Low, c.Low), max(m.High, c.High)
		m.Predicted += c.Value / float64(len(r.Cells))
		if c.Measured != nil {
			m.Measured = append(m.Measured, *c.Measured)
		}
		if c.Client != nil && c.Simulated != nil {
			m.Client = append(m.Client, *c.Client)
		}
	}
	return m
}
