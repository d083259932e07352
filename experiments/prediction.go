package experiments

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"llmsim-bench/bench/report"
)

// predictionSchema is the version of Prediction's JSON form.
const predictionSchema = 1

// Prediction is what must come out of an experiment, written down before it is run.
type Prediction struct {
	Schema int    `json:"schema"`
	ID     string `json:"id"`
	Title  string `json:"title"`
	Hashes Hashes `json:"hashes"`
	// Machine and its Delays are where it was made, and where it holds.
	Machine report.Machine `json:"machine"`
	Delays  MachineDelays  `json:"delays"`
	// Seeds are those of the runs, one after the other.
	Seeds []uint64 `json:"seeds"`
	// PerturbedRuns is how many virtual runs with the delays a spread is taken over.
	PerturbedRuns int         `json:"perturbed_runs"`
	Values        []Predicted `json:"values"`
}

// Predicted is what one expectation comes to.
type Predicted struct {
	Key      string `json:"key"`
	Case     string `json:"case"`
	Quantity string `json:"quantity"`
	Over     string `json:"over,omitempty"`
	Unit     string `json:"unit,omitempty"`
	// From says where the value comes from, Interval how the interval is made.
	From      string      `json:"from"`
	ByFormula bool        `json:"by_formula,omitempty"`
	Interval  string      `json:"interval"`
	Article   string      `json:"article,omitempty"`
	Seeds     []SeedValue `json:"seeds"`
}

// SeedValue is a prediction for the run of one seed.
type SeedValue struct {
	Seed  uint64  `json:"seed"`
	Value float64 `json:"value"`
	// Low and High are the values that still agree.
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// Undelayed is what virtual time says of a machine that takes no time, where the
	// delays matter; such a machine can be outside of the interval.
	Undelayed *float64 `json:"undelayed,omitempty"`
}

// Hashes tell whether a prediction is still that of its definition. The source code
// is not in them: a change that predicts the same makes nothing stale.
type Hashes struct {
	// Definition is that of the cases and expectations, Models that of the models
	// files, Output that of Delays, Seeds and Values.
	Definition string `json:"definition"`
	Models     string `json:"models"`
	Output     string `json:"output"`
}

// hashes of an experiment and of what was predicted of it.
func (p *Prediction) hashes(e *Experiment) (Hashes, error) {
	definition, err := hash(e)
	if err != nil {
		return Hashes{}, err
	}
	var models []string
	for i := range e.Cases {
		text, err := e.Cases[i].Model.YAML(e.Cases[i].scale())
		if err != nil {
			return Hashes{}, err
		}
		models = append(models, string(text))
	}
	h := Hashes{Definition: definition}
	if h.Models, err = hash(models); err != nil {
		return Hashes{}, err
	}
	h.Output, err = hash(struct {
		Delays        MachineDelays
		Seeds         []uint64
		PerturbedRuns int
		Values        []Predicted
	}{p.Delays, p.Seeds, p.PerturbedRuns, p.Values})
	return h, err
}

// hash of a value's JSON, as much of it as tells two apart.
func hash(v any) (string, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:12]), nil
}

// StaleError says that a prediction is not that of the present definition.
type StaleError struct {
	ID   string
	What string // which hash differs
	// Wrote is the hash that the prediction has, Now the one that it should have.
	Wrote, Now string
}

func (e *StaleError) Error() string {
	return fmt.Sprintf("%s: the prediction is stale: the hash of %s is %s, and was %s when it was written; "+
		"if that is meant, write a new one with: llmsim-bench experiments predict --replace %s",
		e.ID, e.What, e.Now, e.Wrote, e.ID)
}

// check returns a StaleError unless the prediction is that of an experiment: its
// definition and models have not changed, nobody has edited what it says, and the
// same comes out again.
func (p *Prediction) check(e *Experiment) error {
	if err := p.checkWritten(e); err != nil {
		return err
	}
	again, err := predict(e, p.Delays, p.Seeds, p.PerturbedRuns)
	if err != nil {
		return err
	}
	now, err := again.hashes(e)
	if err != nil {
		return err
	}
	if now.Output != p.Hashes.Output {
		return &StaleError{e.ID, "what virtual time and the formulas predict", p.Hashes.Output, now.Output}
	}
	return nil
}

// checkWritten is check without predicting again.
func (p *Prediction) checkWritten(e *Experiment) error {
	now, err := p.hashes(e)
	if err != nil {
		return err
	}
	for _, h := range []struct{ what, wrote, now string }{
		{"its definition", p.Hashes.Definition, now.Definition},
		{"its models", p.Hashes.Models, now.Models},
		{"the file's own values, which were edited,", p.Hashes.Output, now.Output},
	} {
		if h.wrote != h.now {
			return &StaleError{e.ID, h.what, h.wrote, h.now}
		}
	}
	return nil
}
