package experiments

import (
	"errors"
	"fmt"
	"io/fs"
	"text/tabwriter"
	"time"
)

// List says which experiments there are, and how far each has come.
func (s *Session) List(all []Experiment) error {
	table := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tTITLE\tCASES\tEXPECTED\tLOAD\tSTATE")
	for i := range all {
		e := &all[i]
		state, err := s.state(e)
		if err != nil {
			return err
		}
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%v\t%s\n", e.ID, e.Title, len(e.Cases), len(e.Expect), e.load(), state)
	}
	return table.Flush()
}

// load is how long the load of all runs lasts, without starts and drains.
func (e *Experiment) load() time.Duration {
	var total time.Duration
	for i := range e.Cases {
		total += e.Cases[i].Warmup + e.Cases[i].Duration
	}
	return total * time.Duration(len(Seeds()))
}

// state says in a few words how far an experiment has come.
func (s *Session) state(e *Experiment) (string, error) {
	p, err := s.Prediction(e.ID)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "no prediction", nil
	case err != nil:
		return "", err
	}
	var stale *StaleError
	if err := p.checkWritten(e); errors.As(err, &stale) {
		return "prediction stale: " + stale.What, nil
	} else if err != nil {
		return "", err
	}
	comparison, err := s.Compare(e.ID)
	if err != nil {
		return "predicted", nil // not run, or against another prediction
	}
	failed := len(comparison.Failed())
	if failed == 0 {
		return fmt.Sprintf("all %d agree", len(comparison.Rows)), nil
	}
	return fmt.Sprintf("%d of %d failed, %d without an explanation", failed, len(comparison.Rows), comparison.Unexplained(true)), nil
}
