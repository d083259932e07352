package experiments

import (
	"fmt"
	"math"
	"strconv"
)

// Expectation says what one quantity of one case must be.
type Expectation struct {
	Case     string `json:"case"`
	Quantity string `json:"quantity"`
	// Over, if not empty, is another case by whose value the case's is divided.
	Over string `json:"over,omitempty"`
	// Formula gives the value; nil: virtual time does.
	Formula *Formula `json:"formula,omitempty"`
	// Interval is how far off a measured value may be.
	Interval Interval `json:"interval"`
	// Article is what the article which the experiments repeat says of it.
	Article string `json:"article,omitempty"`
}

// Formula is a value with its derivation.
type Formula struct {
	Value float64 `json:"value"`
	Text  string  `json:"text"`
}

// Interval says which values agree with a prediction.
type Interval struct {
	Kind Kind `json:"kind"`
	// Share is of the value, for KindWithin.
	Share float64 `json:"share,omitzero"`
	// Low and High are for KindBetween.
	Low  float64 `json:"low,omitzero"`
	High float64 `json:"high,omitzero"`
}

// Kind is the kind of an Interval.
type Kind string

// Kinds of intervals.
const (
	// KindWithin: at most a share of the value off it.
	KindWithin Kind = "within"
	// KindSpread: no further out than virtual runs with the delays of the machine
	// come, and a share beyond.
	KindSpread Kind = "spread"
	// KindBetween: between two values.
	KindBetween Kind = "between"
	// KindEqual: the value itself.
	KindEqual Kind = "equal"
)

// tolerance is the share by which step times, and throughput below the knee, may
// be off, and by which a spread is widened.
const tolerance = 0.01

// What the short variant allows beyond a spread, and how many times as much of a
// share: of one run of each case, some value is outside of the least and the
// greatest of 64 virtual runs every few times by chance alone, and a check that is
// made of every change must not fail for that.
const (
	onceBeyond = 0.15
	onceTimes  = 3
)

// once is the interval for a single run that nobody looks at.
func (i Interval) once() Interval {
	switch i.Kind {
	case KindSpread:
		i.Share = onceBeyond
	case KindWithin:
		i.Share *= onceTimes
	}
	return i
}

func within(share float64) Interval      { return Interval{Kind: KindWithin, Share: share} }
func spread() Interval                   { return Interval{Kind: KindSpread, Share: tolerance} }
func between(low, high float64) Interval { return Interval{Kind: KindBetween, Low: low, High: high} }
func equal() Interval                    { return Interval{Kind: KindEqual} }

func (i Interval) String() string {
	switch i.Kind {
	case KindWithin:
		return "±" + number(i.Share*100) + " %"
	case KindSpread:
		return "spread"
	case KindBetween:
		return fmt.Sprintf("%s to %s", number(i.Low), number(i.High))
	case KindEqual:
		return "equal"
	}
	return string(i.Kind)
}

// Key names the expectation within its experiment.
func (x *Expectation) Key() string {
	if x.Over != "" {
		return fmt.Sprintf("%s ÷ %s: %s", x.Case, x.Over, x.Quantity)
	}
	return x.Case + ": " + x.Quantity
}

// byFormula returns the Formula of a value.
func byFormula(value float64, format string, args ...any) *Formula {
	return &Formula{round(value), fmt.Sprintf(format, args...)}
}

// significant is how many digits of a value are kept: enough for every interval,
// and few enough that no machine's arithmetic shows.
const significant = 6

func round(x float64) float64 {
	if x == 0 || math.IsInf(x, 0) || math.IsNaN(x) {
		return x
	}
	y, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', significant, 64), 64)
	if err != nil {
		panic(err) // a number that was just formatted
	}
	return y
}

func rounded(x float64) *float64 {
	y := round(x)
	return &y
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
