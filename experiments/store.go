package experiments

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"llmsim-bench/internal/wholefile"
)

// Names of an experiment's files, in a folder named after it.
const (
	predictionFile   = "prediction.json"
	resultFile       = "result.json"
	explanationsFile = "explanations.yml"
	plotFile         = "plot.svg"
	// readmeFile is beside the folders.
	readmeFile = "README.md"
)

// missing is the error for a file that is not there.
type missing string

func (m missing) Error() string        { return string(m) }
func (m missing) Is(target error) bool { return target == fs.ErrNotExist }

// Store is where predictions and results are kept: a folder with one for each
// experiment.
type Store struct{ Dir string }

func (s Store) path(id, name string) string { return filepath.Join(s.Dir, id, name) }

// Writable returns an error unless files of an experiment can be made.
func (s Store) Writable(id string) error {
	dir := filepath.Join(s.Dir, id)
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		var probe *os.File
		if probe, err = os.CreateTemp(dir, ".probe-*"); err == nil {
			err = errors.Join(probe.Close(), os.Remove(probe.Name()))
		}
	}
	if err != nil {
		return fmt.Errorf("%s: files can't be made in %s: %w; give another folder with --results", id, dir, err)
	}
	return nil
}

// Prediction reads the prediction of an experiment.
func (s Store) Prediction(id string) (*Prediction, error) {
	var p Prediction
	err := s.read(id, predictionFile, &p)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, missing(fmt.Sprintf("%s: there is no prediction, %s: write it before the run, with: llmsim-bench experiments predict %s",
			id, s.path(id, predictionFile), id))
	case err != nil:
		return nil, err
	case p.Schema != predictionSchema || p.ID != id:
		return nil, fmt.Errorf("%s: %s is schema %d of %q, must be schema %d of %q", id, s.path(id, predictionFile), p.Schema, p.ID, predictionSchema, id)
	}
	return &p, nil
}

// ReadDelays reads the delays of a machine out of a prediction that was made on it.
func ReadDelays(path string) (*MachineDelays, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var p Prediction
	if err := json.Unmarshal(data, &p); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := p.Delays.check(); err != nil {
		return nil, fmt.Errorf("%s: %w; it must be the prediction.json of an experiment", path, err)
	}
	return &p.Delays, nil
}

// Result reads the result of an experiment.
func (s Store) Result(id string) (*Result, error) {
	var r Result
	err := s.read(id, resultFile, &r)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, missing(fmt.Sprintf("%s: there is no result, %s: run it with: llmsim-bench experiments run %s", id, s.path(id, resultFile), id))
	case err != nil:
		return nil, err
	case r.Schema != resultSchema || r.ID != id:
		return nil, fmt.Errorf("%s: %s is schema %d of %q, must be schema %d of %q", id, s.path(id, resultFile), r.Schema, r.ID, resultSchema, id)
	}
	return &r, nil
}

// Explanations reads what is known of failures; a file that is not there holds
// nothing.
func (s Store) Explanations(id string) ([]Explanation, error) {
	path := s.path(id, explanationsFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return readExplanations(path, data)
}

// Compare reads all of an experiment's files.
func (s Store) Compare(id string) (*Comparison, error) {
	p, err := s.Prediction(id)
	if err != nil {
		return nil, err
	}
	r, err := s.Result(id)
	if err != nil {
		return nil, err
	}
	known, err := s.Explanations(id)
	if err != nil {
		return nil, err
	}
	return Compare(p, r, known)
}

// WritePrediction writes a prediction. A result of an older one stays: Compare
// refuses it.
func (s Store) WritePrediction(p *Prediction) error { return s.write(p.ID, predictionFile, p) }

// WriteResult writes a result.
func (s Store) WriteResult(r *Result) error { return s.write(r.ID, resultFile, r) }

func (s Store) read(id, name string, into any) error {
	path := s.path(id, name)
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s: %s: %w", id, path, err)
	}
	return nil
}

func (s Store) write(id, name string, v any) error {
	data, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return fmt.Errorf("%s: %s: %w", id, name, err)
	}
	if err := s.Writable(id); err != nil {
		return err
	}
	return wholefile.Write(s.path(id, name), append(data, '\n'))
}
