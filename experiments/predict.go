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
	var all []float64 // the first without delays
	if x.Formula == nil || x.Interval.Kind == KindSpread {
		for run, o := range r.of[x.Case][seed] {
			value := q.read(o).judged()
			if value == nil {
				return fmt.Errorf("%s has no value in virtual time, so it needs a formula", x.Key())
			}
			if x.Over == "" {
				all = append(all, *value)
				continue
			}
			over := q.read(r.of[x.Over][seed][run]).judged()
			if over == nil || *over == 0 {
				return fmt.Errorf("%s has nothing to divide by in virtual time", x.Key())
			}
			all = append(all, *value / *over)
		}
	}
	if x.Interval.Kind == KindSpread && len(all) == 1 { // nothing is delayed
		v.Value = all[0]
		v.Low, v.High = v.Value*(1-x.Interval.Share), v.Value*(1+x.Interval.Share)
	} else if x.Interval.Kind == KindSpread {
		undelayed, perturbed := round(all[0]), slices.Sorted(slices.Values(all[1:]))
		v.Undelayed = &undelayed
		v.Value = perturbed[(len(perturbed)-1)/2]
		v.Low, v.High = perturbed[0]*(1-x.Interval.Share), perturbed[len(perturbed)-1]*(1+x.Interval.Share)
	} else if x.Formula == nil {
		v.Value = all[0]
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
