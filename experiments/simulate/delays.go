package simulate

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"llmsim-bench/internal/splitmix"
)

// Delays are what a machine adds to the simulated timeline of a live run: how
// much later requests arrive than in virtual time, where everything outside the
// engine takes none. The zero value adds nothing.
type Delays struct {
	// Turnaround is from the end of a user's answer on the timeline to the arrival
	// of the user's next request, in a closed loop without thinking.
	Turnaround Distribution `json:"turnaround_ns,omitempty"`
	// Arrival is how late a request of an open loop arrives, beyond the least that
	// every request takes.
	Arrival Distribution `json:"arrival_ns,omitempty"`
	// Leaving is from the token with which a client leaves to the moment at which
	// the server has noticed.
	Leaving Distribution `json:"leaving_ns,omitempty"`
	// Seed draws the delays of each request.
	Seed uint64 `json:"seed,omitzero"`
}

// Scaled returns the delays on a timeline that runs so many times as fast as the
// wall clock.
func (d Delays) Scaled(timeScale float64) Delays {
	d.Turnaround, d.Arrival, d.Leaving = d.Turnaround.scaled(timeScale), d.Arrival.scaled(timeScale), d.Leaving.scaled(timeScale)
	return d
}

// Check returns an error that names every value that is not possible.
func (d Delays) Check() error {
	return errors.Join(d.Turnaround.check("turnaround"), d.Arrival.check("arrival"), d.Leaving.check("leaving"))
}

// Streams of the draws.
const (
	arrivalStream = 0x61727269
	leavingStream = 0x6c656176
)

// of draws how late a request arrives.
func (d *Delays) of(id int64, closed bool) int64 {
	if closed {
		return d.Turnaround.draw(d.Seed^arrivalStream, id)
	}
	return d.Arrival.draw(d.Seed^arrivalStream, id)
}

// ofLeaving draws how late the server notices that a request's client has left.
func (d *Delays) ofLeaving(id int64) time.Duration {
	return time.Duration(d.Leaving.draw(d.Seed^leavingStream, id))
}

// Distribution holds quantiles at even steps, from the least value to the
// greatest, in nanoseconds. Without any, all values are 0. Its text is the numbers
// with spaces between them.
type Distribution []int64

// MarshalText implements encoding.TextMarshaler.
func (d Distribution) MarshalText() ([]byte, error) {
	var text []byte
	for i, ns := range d {
		if i > 0 {
			text = append(text, ' ')
		}
		text = strconv.AppendInt(text, ns, 10)
	}
	return text, nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Distribution) UnmarshalText(text []byte) error {
	*d = nil
	for _, field := range strings.Fields(string(text)) {
		ns, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return fmt.Errorf("delays: %q is no number of nanoseconds", field)
		}
		*d = append(*d, ns)
	}
	return d.check("such")
}

// NewDistribution returns steps+1 quantiles of sorted values.
func NewDistribution(sorted []int64, steps int) Distribution {
	if len(sorted) == 0 {
		return nil
	}
	d := make(Distribution, steps+1)
	for i := range d {
		d[i] = sorted[i*(len(sorted)-1)/steps]
	}
	return d
}

// draw returns the value that a seed and the number of a request give.
func (d Distribution) draw(seed uint64, id int64) int64 {
	if len(d) == 0 {
		return 0
	}
	x := splitmix.Mix((seed+1)*0xd1342543de82ef95 + uint64(id+1)*splitmix.Gamma)
	return d.At(float64(x>>11) / (1 << 53))
}

// At returns the quantile q, 0 to 1, between the given ones on a straight line.
func (d Distribution) At(q float64) int64 {
	if len(d) == 0 {
		return 0
	}
	place := q * float64(len(d)-1)
	i := min(int(place), len(d)-1)
	low, high := d[i], d[min(i+1, len(d)-1)]
	return low + int64(math.Round(float64((place-float64(i))*float64(high-low))))
}

func (d Distribution) scaled(by float64) Distribution {
	if by == 1 || len(d) == 0 {
		return d
	}
	out := make(Distribution, len(d))
	for i, ns := range d {
		out[i] = int64(math.Round(float64(ns) * by))
	}
	return out
}

func (d Distribution) check(name string) error {
	last := int64(0)
	for i, ns := range d {
		if ns < last {
			return fmt.Errorf("%s delays: quantile %d is %d ns, must be %d or more: they ascend from 0", name, i, ns, last)
		}
		last = ns
	}
	return nil
}
