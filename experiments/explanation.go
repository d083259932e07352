package experiments

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"gopkg.in/yaml.v3"
)

// Explanation is what is known of a prediction that failed. It changes no verdict.
type Explanation struct {
	// About is the row's key, such as "64 streams: ttft_p50".
	About string `yaml:"about"`
	State State  `yaml:"state"`
	// Text says what is taken to be the cause.
	Text string `yaml:"text"`
	// Control is the experiment that removed the cause, and what came out.
	Control string `yaml:"control"`
}

// State says how sure an explanation is.
type State string

// States of an explanation.
const (
	// Inferred: it fits the numbers.
	Inferred State = "inferred"
	// Proven: a control experiment that removed the suspected cause removed the failure.
	Proven State = "proven"
)

// readExplanations reads a list of explanations; name is what errors call it.
func readExplanations(name string, data []byte) ([]Explanation, error) {
	var all []Explanation
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if err := decoder.Decode(&all); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %w; it must be a list of about, state, text and, where it is proven, control", name, err)
	}
	for i, x := range all {
		switch {
		case x.About == "" || x.Text == "":
			return nil, fmt.Errorf("%s: explanation %d: about and text must both be there", name, i+1)
		case x.State != Inferred && x.State != Proven:
			return nil, fmt.Errorf("%s: explanation %d: state is %q, must be %q or %q", name, i+1, x.State, Inferred, Proven)
		case x.State == Proven && x.Control == "":
			return nil, fmt.Errorf("%s: explanation %d: what is proven has a control: the experiment that removed the cause, and what came out; else it is %q", name, i+1, Inferred)
		}
	}
	return all, nil
}

// find returns the explanation of a row, nil if there is none.
func find(known []Explanation, key string) *Explanation {
	for i := range known {
		if known[i].About == key {
			return &known[i]
		}
	}
	return nil
}
