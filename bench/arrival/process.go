package arrival

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Kind is the kind of a Process. It is written by its name.
type Kind uint8

// Kinds of processes. Those before KindRamp have a rate that holds throughout;
// the others say themselves what comes when.
const (
	KindPoisson Kind = iota
	KindConstant
	KindGamma
	KindRamp
	KindSteps
	KindBurst
	KindTrace
)

var kindNames = [...]string{"poisson", "constant", "gamma", "ramp", "steps", "burst", "trace"}

// String implements fmt.Stringer.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// MarshalText implements encoding.TextMarshaler.
func (k Kind) MarshalText() ([]byte, error) {
	if int(k) >= len(kindNames) {
		return nil, fmt.Errorf("arrival: there is no %v", k)
	}
	return []byte(k.String()), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (k *Kind) UnmarshalText(text []byte) error {
	i := slices.Index(kindNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("arrival: %q is no kind of process, must be one of %s", text, strings.Join(kindNames[:], ", "))
	}
	*k = Kind(i)
	return nil
}

// Process describes arrivals, so that they can be named in a flag and kept in a
// file. Only the fields of its Kind are set. The zero Process is a Poisson process
// that still needs a rate.
type Process struct {
	Kind Kind `json:"kind"`
	// Rate in requests per second: Poisson, constant and gamma.
	Rate       float64 `json:"rate,omitzero"`
	Burstiness float64 `json:"burstiness,omitzero"` // gamma
	// A ramp's rates at its start and its end.
	FromRate float64 `json:"from_rate,omitzero"`
	ToRate   float64 `json:"to_rate,omitzero"`
	Steps    []Step  `json:"steps,omitempty"`
	Requests int     `json:"requests,omitzero"` // of a burst
	// Times of a trace. A file names the trace instead of repeating them.
	Times []time.Duration `json:"-"`
}

// HasRate reports whether the process has one rate that holds throughout, which
// a caller sets.
func (p Process) HasRate() bool { return p.Kind < KindRamp }

// Check returns an error that says what of the process is not possible.
func (p Process) Check() error {
	switch p.Kind {
	case KindPoisson, KindConstant:
		return checkRate(p.Rate)
	case KindGamma:
		return errors.Join(checkRate(p.Rate), checkBurstiness(p.Burstiness))
	case KindRamp:
		return checkRamp(p.FromRate, p.ToRate)
	case KindSteps:
		return checkSteps(p.Steps)
	case KindBurst:
		return checkBurst(p.Requests)
	case KindTrace:
		return checkTimes(p.Times)
	}
	return fmt.Errorf("arrival: there is no %v", p.Kind)
}

// Schedule returns the arrivals over [0, horizon). The seed decides them where
// chance does.
func (p Process) Schedule(horizon time.Duration, seed uint64) (Schedule, error) {
	switch p.Kind {
	case KindPoisson:
		return Poisson(p.Rate, horizon, seed)
	case KindConstant:
		return Constant(p.Rate, horizon)
	case KindGamma:
		return Gamma(p.Rate, p.Burstiness, horizon, seed)
	case KindRamp:
		return Ramp(p.FromRate, p.ToRate, horizon, seed)
	case KindSteps:
		return Steps(p.Steps, horizon, seed)
	case KindBurst:
		return Burst(p.Requests)
	case KindTrace:
		return Trace(p.Times, horizon)
	}
	return nil, p.Check()
}

// Length returns how long a horizon must be for the schedule to be whole, and 0
// where the process has no end of its own.
func (p Process) Length() time.Duration {
	switch {
	case p.Kind == KindSteps:
		return length(p.Steps)
	case p.Kind == KindBurst:
		return 1
	case p.Kind == KindTrace && len(p.Times) > 0:
		return p.Times[len(p.Times)-1] + 1
	}
	return 0
}

// MeanRate returns the requests per second that the process offers on average
// in [from, to) of a schedule over [0, horizon). It is what is expected over all
// seeds, but for bursts and traces, which leave nothing to chance. It is 0 for an
// empty window.
func (p Process) MeanRate(from, to, horizon time.Duration) float64 {
	if to <= from {
		return 0
	}
	return (p.expectedBy(min(to, horizon), horizon) - p.expectedBy(min(from, horizon), horizon)) / (to - from).Seconds()
}

// PeakRate returns the highest rate that the process comes to, in requests per
// second: of a burst, all of it at once; of a trace, its fullest second.
func (p *Process) PeakRate() float64 {
	switch p.Kind {
	case KindRamp:
		return max(p.FromRate, p.ToRate)
	case KindSteps:
		peak := 0.0
		for _, s := range p.Steps {
			peak = max(peak, s.Rate)
		}
		return peak
	case KindBurst:
		return float64(p.Requests)
	case KindTrace:
		most, first := 0, 0
		for i, at := range p.Times {
			for p.Times[first] <= at-time.Second {
				first++
			}
			most = max(most, i-first+1)
		}
		return float64(most)
	}
	return p.Rate
}

// expectedBy returns how many arrivals are expected before a time that is not
// after the horizon.
func (p Process) expectedBy(at, horizon time.Duration) float64 {
	switch p.Kind {
	case KindRamp:
		s := at.Seconds()
		return p.FromRate*s + (p.ToRate-p.FromRate)/(2*horizon.Seconds())*s*s
	case KindSteps:
		n := 0.0
		for _, s := range p.Steps {
			n += s.Rate * min(s.For, at).Seconds()
			at -= min(s.For, at)
		}
		return n
	case KindBurst:
		if at > 0 {
			return float64(p.Requests)
		}
		return 0
	case KindTrace:
		n, _ := slices.BinarySearch(p.Times, at)
		return float64(n)
	}
	return p.Rate * at.Seconds()
}

// String says what arrives, such as "poisson 20/s".
func (p Process) String() string {
	switch p.Kind {
	case KindGamma:
		return fmt.Sprintf("gamma:%s %s/s", number(p.Burstiness), number(p.Rate))
	case KindRamp:
		return fmt.Sprintf("ramp %s%s%s/s", number(p.FromRate), rampMark, number(p.ToRate))
	case KindSteps:
		return "steps " + formatSteps(p.Steps)
	case KindBurst:
		return fmt.Sprintf("burst of %d", p.Requests)
	case KindTrace:
		return fmt.Sprintf("trace of %d", len(p.Times))
	}
	return fmt.Sprintf("%v %s/s", p.Kind, number(p.Rate))
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
