package arrival

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// What stands between the numbers of a process.
const (
	rampMark  = ".."
	stepMark  = "@"
	stepsMark = ","
)

// ParseArrival reads how requests arrive that have a rate: "poisson", "constant"
// or "gamma:BURSTINESS". The rate is left for the caller to set.
func ParseArrival(text string) (Process, error) {
	name, value, has := strings.Cut(strings.TrimSpace(text), ":")
	var p Process
	switch {
	case name == "poisson" && !has:
	case name == "constant" && !has:
		p.Kind = KindConstant
	case name == "gamma" && has:
		burstiness, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return Process{}, fmt.Errorf("arrival %q: %q is no number; give a burstiness, such as gamma:0.5", text, value)
		}
		if err := checkBurstiness(burstiness); err != nil {
			return Process{}, fmt.Errorf("%w (in %q)", err, text)
		}
		p.Kind, p.Burstiness = KindGamma, burstiness
	default:
		return Process{}, fmt.Errorf("arrival %q is not known, must be poisson, constant or gamma:BURSTINESS, such as gamma:0.5", text)
	}
	return p, nil
}

// ParseRamp reads "10..100", the rates at the start and the end in requests per
// second.
func ParseRamp(text string) (Process, error) {
	first, last, ok := strings.Cut(text, rampMark)
	if !ok {
		return Process{}, fmt.Errorf("ramp %q: there is no %q; give the requests a second at the start and at the end, such as 10..100", text, rampMark)
	}
	p := Process{Kind: KindRamp}
	for _, part := range []struct {
		text string
		rate *float64
	}{{first, &p.FromRate}, {last, &p.ToRate}} {
		rate, err := parseRate(part.text)
		if err != nil {
			return Process{}, fmt.Errorf("ramp %q: %w, such as 10..100", text, err)
		}
		*part.rate = rate
	}
	if err := p.Check(); err != nil {
		return Process{}, fmt.Errorf("%w (in %q)", err, text)
	}
	return p, nil
}

// ParseSteps reads "10@30s,0@5s,50@10s": requests per second and how long they
// come at that rate.
func ParseSteps(text string) (Process, error) {
	p := Process{Kind: KindSteps}
	for field := range strings.SplitSeq(text, stepsMark) {
		var s Step
		if err := s.UnmarshalText([]byte(field)); err != nil {
			return Process{}, fmt.Errorf("steps %q: %w", text, err)
		}
		p.Steps = append(p.Steps, s)
	}
	if err := p.Check(); err != nil {
		return Process{}, fmt.Errorf("%w (in %q)", err, text)
	}
	return p, nil
}

// String is what ParseSteps reads.
func (s Step) String() string { return number(s.Rate) + stepMark + s.For.String() }

// MarshalText implements encoding.TextMarshaler.
func (s Step) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Step) UnmarshalText(text []byte) error {
	rate, length, ok := strings.Cut(strings.TrimSpace(string(text)), stepMark)
	if !ok {
		return fmt.Errorf("%q has no %q; give requests a second and for how long, such as 10@30s", text, stepMark)
	}
	var err error
	if s.Rate, err = parseRate(rate); err != nil {
		return fmt.Errorf("%w, such as 10@30s", err)
	}
	if s.For, err = time.ParseDuration(strings.TrimSpace(length)); err != nil {
		return fmt.Errorf("%q is no length of time, such as 30s or 5m", length)
	}
	return nil
}

func formatSteps(steps []Step) string {
	var b strings.Builder
	for i, s := range steps {
		if i > 0 {
			b.WriteString(stepsMark)
		}
		b.WriteString(s.String())
	}
	return b.String()
}

func parseRate(text string) (float64, error) {
	rate, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no number; give requests a second", text)
	}
	return rate, nil
}
