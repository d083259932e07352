package experiments

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"llmsim-bench/bench/report"
)

// Session is one call of the program: what is asked for, and where it goes.
type Session struct {
	Store
	// Start starts a simulator.
	Start   Start
	Version string
	// Out takes what a person asked for, Progress what is going on meanwhile.
	Out, Progress io.Writer

	// Delays are this machine's; nil: they are measured when they are needed.
	Delays *MachineDelays

	// For tests; 0 and nil are as usual.
	perturbed int      // virtual runs of a spread
	attempts  int      // runs of a case on a busy machine
	seeds     []uint64 // of predictions
}

// spreadRuns is how many virtual runs a spread is taken over.
func (s *Session) spreadRuns() int { return cmp.Or(s.perturbed, perturbedRuns) }

// runSeeds are those of new predictions.
func (s *Session) runSeeds() []uint64 {
	if s.seeds != nil {
		return s.seeds
	}
	return Seeds()
}

// machineDelays measures this machine's delays, once.
func (s *Session) machineDelays(ctx context.Context) (*MachineDelays, error) {
	if s.Delays == nil {
		fmt.Fprintln(s.Progress, "measuring this machine's delays")
		delays, err := MeasureDelays(ctx, s.Start)
		if err != nil {
			return nil, err
		}
		s.Delays = delays
	}
	return s.Delays, nil
}

// Predict writes the predictions that are missing. One that is there and not of the
// present definition is an error, unless replace says to write it anew. (Whether
// the same is predicted still, Run asks.)
func (s *Session) Predict(ctx context.Context, all []Experiment, replace bool) error {
	for i := range all {
		e := &all[i]
		if err := s.Writable(e.ID); err != nil {
			return err
		}
		p, err := s.Prediction(e.ID)
		switch {
		case replace || errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return err
		default:
			if err := p.checkWritten(e); err != nil {
				return err
			}
			fmt.Fprintf(s.Out, "%-4s %s: the prediction stands\n", e.ID, e.Title)
			continue
		}
		delays, err := s.machineDelays(ctx)
		if err != nil {
			return err
		}
		if p, err = predict(e, *delays, s.runSeeds(), s.spreadRuns()); err != nil {
			return err
		}
		p.Machine = report.ThisMachine()
		if err := s.WritePrediction(p); err != nil {
			return err
		}
		fmt.Fprintf(s.Out, "%-4s %s: %d values predicted, in %s; commit it before the run\n", e.ID, e.Title, len(p.Values), s.path(e.ID, predictionFile))
	}
	return nil
}

// Run runs experiments against their predictions, and writes the results. It
// looks at all predictions before the first run.
func (s *Session) Run(ctx context.Context, all []Experiment) error {
	predictions := make([]*Prediction, len(all))
	for i := range all {
		e := &all[i]
		if err := s.Writable(e.ID); err != nil {
			return err
		}
		p, err := s.Prediction(e.ID)
		if err == nil {
			err = p.check(e)
		}
		if err != nil {
			return err
		}
		predictions[i] = p
	}
	runner := Runner{Start: s.Start, Version: s.Version, Progress: s.Progress, attempts: s.attempts}
	for i := range all {
		began := time.Now()
		result, err := runner.run(ctx, &all[i], predictions[i])
		if err != nil {
			return err
		}
		if err := s.WriteResult(result); err != nil {
			return err
		}
		fmt.Fprintf(s.Out, "%-4s %s: run %d times in %.0f s\n", all[i].ID, all[i].Title, len(result.Runs), time.Since(began).Seconds())
	}
	return nil
}

// Mode says where short variants are run.
type Mode int

// Modes. AsDefined puts those on a live simulator that are made for it.
const (
	AsDefined Mode = iota
	AllVirtual
	AllLive
)

// Quick predicts and runs the short variants, with one seed. What comes of it goes
// to a folder of its own, or to none; of the store only predictions, for those that
// stay in virtual time, and explanations are read. It returns how many predictions
// failed that nothing explains, not even a busy machine.
func (s *Session) Quick(ctx context.Context, all []Experiment, dir string, mode Mode) (unexplained int, err error) {
	if dir == "" {
		if dir, err = os.MkdirTemp("", "llmsim-experiments-"); err != nil {
			return 0, err
		}
		defer func() { _ = os.RemoveAll(dir) }() // a temporary folder
	}
	kept := Store{dir}
	for i := range all {
		e := all[i].quick()
		e.Quick.Live = mode == AllLive || mode == AsDefined && e.Quick.Live
		if err := s.standing(&all[i]); err != nil && mode != AllLive {
			return unexplained, err
		}
		comparison, err := s.quick(ctx, &e, kept)
		if err != nil {
			return unexplained, err
		}
		comparison.write(s.Out)
		unexplained += comparison.Unexplained(false)
	}
	return unexplained, nil
}

// standing checks a prediction that the store has: what was predicted must come
// out again.
func (s *Session) standing(e *Experiment) error {
	p, err := s.Prediction(e.ID)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return p.check(e)
}

// quickSeeds is the one run of a short variant.
var quickSeeds = []uint64{1}

func (s *Session) quick(ctx context.Context, e *Experiment, kept Store) (*Comparison, error) {
	runner := Runner{Version: s.Version, Progress: s.Progress, attempts: s.attempts}
	delays := &MachineDelays{}
	perturbed := 0 // in virtual time there are no delays
	if e.Quick.Live {
		var err error
		if delays, err = s.machineDelays(ctx); err != nil {
			return nil, err
		}
		runner.Start, perturbed = s.Start, s.spreadRuns()
	}
	p, err := predict(e, *delays, quickSeeds, perturbed)
	if err != nil {
		return nil, err
	}
	if err := kept.WritePrediction(p); err != nil {
		return nil, err
	}
	result, err := runner.run(ctx, e, p)
	if err != nil {
		return nil, err
	}
	if err := kept.WriteResult(result); err != nil {
		return nil, err
	}
	known, err := s.Explanations(e.ID)
	if err != nil {
		return nil, err
	}
	return Compare(p, result, known)
}

// Diff shows predicted beside measured, and returns how many predictions failed
// that nothing explains.
func (s *Session) Diff(all []Experiment) (unexplained int, err error) {
	for i := range all {
		comparison, err := s.Compare(all[i].ID)
		if err != nil {
			return unexplained, err
		}
		comparison.write(s.Out)
		unexplained += comparison.Unexplained(true)
	}
	return unexplained, nil
}
