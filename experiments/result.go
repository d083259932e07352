package experiments

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"llmsim-bench/bench/record"
	"llmsim-bench/bench/report"
	"llmsim-bench/experiments/simulate"
	"llmsim-bench/internal/wire"
)

// resultSchema is the version of Result's JSON form.
const resultSchema = 1

// Result is what came out of an experiment.
type Result struct {
	Schema int    `json:"schema"`
	ID     string `json:"id"`
	Title  string `json:"title"`
	// Prediction is the output hash of the prediction that was there before.
	Prediction string `json:"prediction"`
	// Virtual says that it was not put on a live simulator.
	Virtual     bool           `json:"virtual,omitempty"`
	ToolVersion string         `json:"tool_version"`
	Started     time.Time      `json:"started,omitzero"`
	Machine     report.Machine `json:"machine"`
	Runs        []Run          `json:"runs"`
}

// Run is one run of all cases with one seed.
type Run struct {
	Seed  uint64       `json:"seed"`
	Cases []CaseResult `json:"cases"`
}

// CaseResult is what one case came to.
type CaseResult struct {
	Name string `json:"name"`
	// Values by quantity.
	Values     map[string]Columns `json:"values"`
	Accounting record.Accounting  `json:"accounting"`
	// Replay is nil in virtual time, as is all that follows.
	Replay *simulate.Replayed `json:"replay,omitempty"`
	Late   *wire.LateArrivals `json:"late_arrivals,omitempty"`
	Client string             `json:"client,omitempty"` // its health
	LagP99 float64            `json:"lag_p99_ms,omitzero"`
	// Busy says that the simulator wrote its tokens later than its envelope allows, or
	// that steps had to be decided without requests that had arrived: the machine had
	// more to do than when its delays were measured.
	Busy bool `json:"busy,omitempty"`
	// Attempts is how often the case was run until the machine was not busy, if more
	// than once.
	Attempts int     `json:"attempts,omitzero"`
	TookS    float64 `json:"took_s,omitzero"`
}

// maxAttempts is how often a case is run while the machine is busy. Whether it is
// run again does not depend on what came out.
const maxAttempts = 3

// find returns a case of a run by its name, nil if it has none.
func (r *Run) find(name string) *CaseResult {
	for i := range r.Cases {
		if r.Cases[i].Name == name {
			return &r.Cases[i]
		}
	}
	return nil
}

// Runner runs experiments.
type Runner struct {
	// Start starts a simulator; nil: cases are run in virtual time.
	Start   Start
	Version string
	// Progress takes a line for each case; nil: nobody reads it.
	Progress io.Writer

	attempts int // 0: maxAttempts
}

// Run runs every case once for each seed of the prediction. It refuses one that is
// stale.
func (r *Runner) Run(ctx context.Context, e *Experiment, p *Prediction) (*Result, error) {
	if err := p.check(e); err != nil {
		return nil, err
	}
	return r.run(ctx, e, p)
}

// run is Run with a prediction that is known to be the experiment's.
func (r *Runner) run(ctx context.Context, e *Experiment, p *Prediction) (*Result, error) {
	result := &Result{
		Schema: resultSchema, ID: e.ID, Title: e.Title, Prediction: p.Hashes.Output,
		Virtual: r.Start == nil, ToolVersion: r.Version, Machine: report.ThisMachine(),
	}
	if r.Start != nil {
		result.Started = time.Now().UTC().Truncate(time.Second)
	}
	for _, seed := range p.Seeds {
		run := Run{Seed: seed}
		for i := range e.Cases {
			c, err := r.runCase(ctx, e, &e.Cases[i], seed)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", e.ID, err)
			}
			run.Cases = append(run.Cases, c)
		}
		result.Runs = append(result.Runs, run)
	}
	return result, nil
}

// runCase runs a case, and again if the machine was busy.
func (r *Runner) runCase(ctx context.Context, e *Experiment, c *Case, seed uint64) (CaseResult, error) {
	if r.Start == nil {
		o, err := inVirtualTime(c, seed, simulate.Delays{})
		if err != nil {
			return CaseResult{}, err
		}
		return e.result(c, o)
	}
	for attempt := 1; ; attempt++ {
		began := time.Now()
		o, err := live(ctx, r.Start, c, seed, r.Version)
		if err != nil {
			return CaseResult{}, err
		}
		out, err := e.result(c, o)
		if err != nil {
			return CaseResult{}, err
		}
		out.TookS = time.Since(began).Round(time.Millisecond).Seconds()
		if attempt > 1 {
			out.Attempts = attempt
		}
		again := out.Busy && attempt < cmp.Or(r.attempts, maxAttempts)
		r.tell(e, seed, &out, again)
		if !again {
			return out, nil
		}
	}
}

// tell says how a case went.
func (r *Runner) tell(e *Experiment, seed uint64, c *CaseResult, again bool) {
	if r.Progress == nil {
		return
	}
	remark := ""
	if again {
		remark = ": the machine was busy, once more"
	}
	fmt.Fprintf(r.Progress, "%s, seed %d, %s: %.1f s, %d requests, client %s, lag p99 %.2f ms%s\n",
		e.ID, seed, c.Name, c.TookS, c.Accounting.Scheduled, c.Client, c.LagP99, remark)
}

// result keeps what is looked at of a case.
func (e *Experiment) result(c *Case, o *outcome) (CaseResult, error) {
	out := CaseResult{Name: c.Name, Values: make(map[string]Columns), Accounting: o.point.Accounting, Replay: o.replay}
	for _, name := range e.quantitiesOf(c.Name) {
		q, err := quantityOf(name)
		if err != nil {
			return out, err
		}
		out.Values[name] = q.read(o)
	}
	if o.virtual {
		return out, nil
	}
	out.Client = o.point.Health.Verdict
	if o.point.Steps != nil {
		out.Late = o.point.Steps.Late
	}
	if o.point.Lateness != nil {
		out.LagP99, out.Busy = round(o.point.LagP99MS), o.point.ServerLate
	}
	out.Busy = out.Busy || out.seenLate(c)
	return out, nil
}

// seenLate reports whether more than a hundredth of the requests were seen by a
// later step than they should have been. On a timeline that runs faster than the
// wall clock a decision can't wait for long, and some always are.
func (r *CaseResult) seenLate(c *Case) bool {
	return r.Late != nil && c.scale() <= 1 && r.Late.Requests*100 > r.Accounting.Scheduled
}

// quantitiesOf names what is looked at in a case, each once.
func (e *Experiment) quantitiesOf(name string) []string {
	var names []string
	seen := make(map[string]bool)
	add := func(quantity string) {
		if quantity != "" && !seen[quantity] {
			seen[quantity] = true
			names = append(names, quantity)
		}
	}
	for i := range e.Expect {
		if x := &e.Expect[i]; x.Case == name || x.Over == name {
			add(x.Quantity)
		}
	}
	for _, quantity := range append([]string{e.Plot.Quantity}, e.Plot.Beside...) {
		add(quantity)
	}
	return names
}
