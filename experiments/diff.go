package experiments

import (
	"fmt"
	"math"
	"time"

	"llmsim-bench/bench/report"
)

// Comparison sets what was predicted beside what came out.
type Comparison struct {
	ID, Title string
	Virtual   bool
	Rows      []Row
	// Runs is how often each case was run, Cases how many runs of cases that makes;
	// in Limited of them the client could not keep up.
	Runs, Cases, Limited int
	// Replayed is how many requests were held against a replay, Differ how many of
	// them were not the same.
	Replayed, Differ int
	// Machine is where it was run, and Started when.
	Machine report.Machine
	Started time.Time
}

// Row is one expectation, over all seeds.
type Row struct {
	Predicted
	Cells []Cell
	// Identity says that it is no expectation of its own, but holds of every case.
	Identity bool
	// Explanation is what is known of a row that failed; nil: nothing is.
	Explanation *Explanation
}

// Cell is a row's run of one seed.
type Cell struct {
	SeedValue
	Columns
	// Measured is the column that is judged, nil where there is none.
	Measured *float64
	// Busy says that the machine had more to do than the prediction allows for.
	Busy bool
}

// Agrees reports whether what was measured is within the interval.
func (c *Cell) Agrees() bool {
	return c.Measured != nil && *c.Measured >= c.Low && *c.Measured <= c.High
}

// Error is by which share of the prediction the measured value is off it; the
// difference, where the prediction is 0.
func (c *Cell) Error() float64 {
	switch {
	case c.Measured == nil:
		return math.NaN()
	case c.Value == 0:
		return *c.Measured
	}
	return *c.Measured/c.Value - 1
}

// Passes reports whether all runs agree.
func (r *Row) Passes() bool {
	for i := range r.Cells {
		if !r.Cells[i].Agrees() {
			return false
		}
	}
	return len(r.Cells) > 0
}

// Busy reports whether the row failed in runs only in which the machine was busy:
// they say nothing of the prediction, and should be run again.
func (r *Row) Busy() bool {
	for i := range r.Cells {
		if c := &r.Cells[i]; !c.Agrees() && !c.Busy {
			return false
		}
	}
	return !r.Passes()
}

// Compare sets a result beside the prediction that it was run against.
func Compare(p *Prediction, r *Result, known []Explanation) (*Comparison, error) {
	if p.Hashes.Output != r.Prediction {
		return nil, fmt.Errorf("%s: the result was run against another prediction, %s; the present one is %s: run it again with: llmsim-bench experiments run %s",
			p.ID, r.Prediction, p.Hashes.Output, p.ID)
	}
	out := &Comparison{ID: p.ID, Title: p.Title, Virtual: r.Virtual, Runs: len(r.Runs), Machine: r.Machine, Started: r.Started}
	for i := range r.Runs {
		for k := range r.Runs[i].Cases {
			out.count(&r.Runs[i].Cases[k])
		}
	}
	for _, v := range p.Values {
		row := Row{Predicted: v}
		for _, value := range v.Seeds {
			columns, busy, found := r.columns(value.Seed, &v)
			if !found {
				return nil, fmt.Errorf("%s: the result has no run of seed %d with %s: it is cut, or edited", p.ID, value.Seed, v.Key)
			}
			row.Cells = append(row.Cells, Cell{SeedValue: value, Columns: columns, Measured: columns.judged(), Busy: busy})
		}
		if r.Virtual && (!v.ByFormula || row.Cells[0].Measured == nil) {
			continue // virtual time would be held against itself, or has no such value
		}
		out.Rows = append(out.Rows, row)
	}
	out.Rows = append(out.Rows, r.identities()...)
	for i := range out.Rows {
		if row := &out.Rows[i]; !row.Passes() {
			row.Explanation = find(known, row.Key)
		}
	}
	return out, nil
}

func (c *Comparison) count(r *CaseResult) {
	c.Cases++
	if r.Client == "limited" {
		c.Limited++
	}
	if r.Replay != nil {
		c.Replayed += r.Replay.Requests
		c.Differ += r.Replay.Differences
	}
}

// columns returns what was measured of a prediction in the run of a seed, and
// whether the machine was busy then.
func (r *Result) columns(seed uint64, v *Predicted) (columns Columns, busy, found bool) {
	for i := range r.Runs {
		run := &r.Runs[i]
		if run.Seed != seed {
			continue
		}
		c := run.find(v.Case)
		if c == nil {
			return Columns{}, false, false
		}
		columns, found = c.Values[v.Quantity]
		if v.Over == "" || !found {
			return columns, c.Busy, found
		}
		over := run.find(v.Over)
		if over == nil {
			return Columns{}, false, false
		}
		return columns.over(over.Values[v.Quantity]), c.Busy || over.Busy, true
	}
	return Columns{}, false, false
}

// over divides each column by another's.
func (c Columns) over(other Columns) Columns {
	divide := func(a, b *float64) *float64 {
		if a == nil || b == nil || *b == 0 {
			return nil
		}
		return rounded(*a / *b)
	}
	return Columns{divide(c.Simulated, other.Simulated), divide(c.Server, other.Server), divide(c.Client, other.Client)}
}

// identities are what must hold of every case, whatever it is about: no request
// fails, and the effective log, replayed, gives the live run.
func (r *Result) identities() []Row {
	var rows []Row
	if len(r.Runs) == 0 {
		return nil
	}
	for _, c := range r.Runs[0].Cases {
		failed := Row{Identity: true, Predicted: Predicted{Key: c.Name + ": failed requests", Case: c.Name, Quantity: "failed requests", From: "every request is answered", Interval: equal().String()}}
		replayed := Row{Identity: true, Predicted: Predicted{Key: c.Name + ": replay", Case: c.Name, Quantity: "requests that differ from the replay", From: "the effective log says all that the engine acted on", Interval: equal().String()}}
		for i := range r.Runs {
			of := r.Runs[i].find(c.Name)
			if of == nil {
				continue
			}
			zero := SeedValue{Seed: r.Runs[i].Seed}
			n := float64(of.Accounting.Failed + of.Accounting.Dropped)
			failed.Cells = append(failed.Cells, Cell{SeedValue: zero, Columns: Columns{Client: &n}, Measured: &n})
			if of.Replay != nil {
				d := float64(of.Replay.Differences)
				replayed.Cells = append(replayed.Cells, Cell{SeedValue: zero, Columns: Columns{Simulated: &d}, Measured: &d})
			}
		}
		rows = append(rows, failed)
		if len(replayed.Cells) > 0 {
			rows = append(rows, replayed)
		}
	}
	return rows
}

// Failed returns the rows that failed.
func (c *Comparison) Failed() []*Row {
	var failed []*Row
	for i := range c.Rows {
		if !c.Rows[i].Passes() {
			failed = append(failed, &c.Rows[i])
		}
	}
	return failed
}

// Unexplained counts the rows that failed and of which nothing is known; busy says
// whether those count, too, that failed on a busy machine only.
func (c *Comparison) Unexplained(busy bool) int {
	n := 0
	for _, row := range c.Failed() {
		if row.Explanation == nil && (busy || !row.Busy()) {
			n++
		}
	}
	return n
}
