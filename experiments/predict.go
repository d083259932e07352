package experiments

import (
	"errors"
	"fmt"
	"slices"

	"llmsim-bench/experiments/simulate"
)

// Seeds are those of the three runs of each experiment.
func Seeds() []uint64 { return []uint64{1, 2, 3} }

// perturbedRuns is how many virtual runs with the delays of the machine a spread
// is taken over. The live run is one more of the same kind: it is the furthest out
// of all on a side once in so many.
const perturbedRuns = 64

// predict says what must come out of an experiment on a machine with these delays,
// and of each seed.
func predict(e *Experiment, delays MachineDelays, seeds []uint64, perturbed int) (*Prediction, error) {
	p := &Prediction{
		Schema: predictionSchema, ID: e.ID, Title: e.Title,
		Delays: delays, Seeds: seeds, PerturbedRuns: perturbed,
	}
	err := checkRuns(&delays, seeds, perturbed)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.ID, err)
	}
	runs, err := virtualRuns(e, &delays, seeds, perturbed)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.ID, err)
	}
	for i := range e.Expect {
		value, err := runs.predicted(&e.Expect[i])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.ID, err)
		}
		p.Values = append(p.Values, value)
	}
	p.Hashes, err = p.hashes(e)
	return p, err
}

// checkRuns refuses what a prediction's file may say and no run can be made of.
func checkRuns(delays *MachineDelays, seeds []uint64, perturbed int) error {
	switch {
	case len(seeds) == 0:
		return errors.New("seeds: there must be one or more")
	case perturbed < 0 || perturbed > maxPerturbed:
		return fmt.Errorf("perturbed_runs is %d, must be 0 to %d", perturbed, maxPerturbed)
	case perturbed > 0:
		return delays.check()
	}
	return nil
}

const maxPerturbed = 10_000

// runs holds the virtual runs of an experiment.
type runs struct {
	seeds []uint64
	// of a case, by seed and run: the first without delays, then those with.
	of map[string][][]*outcome
}

func virtualRuns(e *Experiment, delays *MachineDelays, seeds []uint64, perturbed int) (*runs, error) {
	type job struct {
		c     *Case
		seed  uint64
		run   int
		store **outcome
	}
	var jobs []job
	r := &runs{seeds: seeds, of: make(map[string][][]*outcome)}
	for i := range e.Cases {
		c := &e.Cases[i]
		n := 1
		if e.needsSpread(c.Name) {
			n += perturbed
		}
		r.of[c.Name] = make([][]*outcome, len(seeds))
		for s, seed := range seeds {
			r.of[c.Name][s] = make([]*outcome, n)
			for run := range n {
				jobs = append(jobs, job{c, seed, run, &r.of[c.Name][s][run]})
			}
		}
	}
	err := eachOf(len(jobs), func(i int) error {
		j := &jobs[i]
		var d simulate.Delays
		if j.run > 0 {
			d = delays.of(j.c, j.seed, j.run)
		}
		var err error
		*j.store, err = inVirtualTime(j.c, j.seed, d)
		return err
	})
	return r, err
}

// needsSpread reports whether a spread is asked for in a case.
func (e *Experiment) needsSpread(name string) bool {
	return slices.ContainsFunc(e.Expect, func(x Expectation) bool {
		return x.Interval.Kind == KindSpread && (x.Case == name || x.Over == name)
	})
}

// predicted works an expectation out for each seed.
func (r *runs) predicted(x *Expectation) (Predicted, error) {
	q, err := quantityOf(x.Quantity)
	if err != nil {
		return Predicted{}, err
	}
	out := Predicted{
		Key: x.Key(), Case: x.Case, Over: x.Over, Quantity: x.Quantity, Unit: q.unit,
		From: "virtual time", Interval: x.Interval.String(), Article: x.Article,
	}
	if x.Over != "" {
		out.Unit = ""
	}
	if x.Formula != nil {
		out.From, out.ByFormula = x.Formula.Text, true
	}
	if x.Interval.Kind == KindSpread {
		out.Interval = fmt.Sprintf("spread of %d virtual runs with this machine's delays, and %s %% beyond", len(r.of[x.Case][0])-1, number(x.Interval.Share*100))
	}
	for i, seed := range r.seeds {
		v := SeedValue{Seed: seed}
		if err := r.value(x, q, i, &v); err != nil {
			return Predicted{}, err
		}
		v.Value, v.Low, v.High = round(v.Value), round(v.Low), round(v.High)
		out.Seeds = append(out.Seeds, v)
	}
	return out, nil
}

// value works an expectation out for one seed.
func (r *runs) value(x *Expectation, q *quantity, seed int, v *SeedValue) error {
	if x.Formula == nil || x.Interval.Kind == KindSpread {
		undelayed, delayed, err := r.values(x, q, seed)
		if err != nil {
			return err
		}
		v.Value = undelayed
		if x.Interval.Kind == KindSpread {
			v.spread(undelayed, delayed, x.Interval.Share)
		}
	}
	if x.Formula != nil {
		v.Value = x.Formula.Value
	}
	switch x.Interval.Kind {
	case KindWithin:
		v.Low, v.High = v.Value*(1-x.Interval.Share), v.Value*(1+x.Interval.Share)
	case KindBetween:
		v.Low, v.High = x.Interval.Low, x.Interval.High
	case KindEqual:
		v.Low, v.High = v.Value, v.Value
	}
	return nil
}

// spread is the interval of the runs with delays, and their median; where there are
// none, that of the run without.
func (v *SeedValue) spread(undelayed float64, delayed []float64, beyond float64) {
	if len(delayed) == 0 {
		delayed = []float64{undelayed}
	} else {
		undelayed = round(undelayed)
		v.Undelayed = &undelayed
	}
	slices.Sort(delayed)
	v.Value = delayed[(len(delayed)-1)/2]
	v.Low, v.High = delayed[0]*(1-beyond), delayed[len(delayed)-1]*(1+beyond)
}

// values returns what the virtual runs of a seed say of an expectation. Two cases
// that are divided run one after the other, and each meets delays of its own: any
// run of one can go with any of the other.
func (r *runs) values(x *Expectation, q *quantity, seed int) (undelayed float64, delayed []float64, err error) {
	of, err := read(q, r.of[x.Case][seed], x.Key())
	if err != nil {
		return 0, nil, err
	}
	if x.Over == "" {
		return of[0], of[1:], nil
	}
	over, err := read(q, r.of[x.Over][seed], x.Key())
	if err != nil {
		return 0, nil, err
	}
	if slices.Contains(over, 0) {
		return 0, nil, fmt.Errorf("%s has nothing to divide by in virtual time", x.Key())
	}
	for _, a := range of[1:] {
		for _, b := range over[1:] {
			delayed = append(delayed, a/b)
		}
	}
	return of[0] / over[0], delayed, nil
}

// read reads a quantity of each run.
func read(q *quantity, all []*outcome, key string) ([]float64, error) {
	values := make([]float64, len(all))
	for i, o := range all {
		value := q.read(o).judged()
		if value == nil {
			return nil, fmt.Errorf("%s has no value in virtual time, so it needs a formula", key)
		}
		values[i] = *value
	}
	return values, nil
}
