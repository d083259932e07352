package experiments

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"llmsim-bench/bench"
	"llmsim-bench/bench/arrival"
	"llmsim-bench/bench/load"
	"llmsim-bench/bench/workload"
	"llmsim-bench/experiments/simulate"
)

// MachineDelays are what one machine adds to the timeline, measured several times:
// a machine is not the same from one minute to the next.
type MachineDelays struct {
	Rounds []DelayRound `json:"rounds"`
}

// DelayRound is what was measured at one time, by what brings it about: on live
// runs of the base model with short requests.
type DelayRound struct {
	// Turnaround by the number of users of a closed loop: from the end of an answer
	// on the timeline to the arrival of that user's next request. Answers of one
	// length end in step, and their users get in each other's way.
	Turnaround map[int]simulate.Distribution `json:"turnaround_ns"`
	// Apart is the turnaround of 64 users whose answers have different lengths.
	Apart simulate.Distribution `json:"turnaround_apart_ns"`
	// Arrival is how much later than the least late a request of an open loop comes.
	Arrival simulate.Distribution `json:"arrival_ns"`
	// Bursts of 64 on new connections: how much later than the first one of a burst
	// its requests come. Each burst stands alone, as a slow one is slow as a whole.
	Bursts []simulate.Distribution `json:"bursts_ns"`
	// Leaving is from the token with which a client leaves until the server knows.
	Leaving simulate.Distribution `json:"leaving_ns"`
}

// of returns the delays that a case meets in one of its runs, which take turns in
// what was measured.
func (m *MachineDelays) of(c *Case, seed uint64, run int) simulate.Delays {
	r := &m.Rounds[run%len(m.Rounds)]
	d := simulate.Delays{Arrival: r.Arrival, Leaving: r.Leaving, Seed: seed<<32 + uint64(run)}
	if c.Trace != "" || c.Load.Arrivals.Kind == arrival.KindBurst {
		d.Arrival = r.Bursts[run/len(m.Rounds)%len(r.Bursts)]
	}
	// Those of the smallest loop that is no smaller; past all, of the largest.
	for _, users := range slices.Backward(slices.Sorted(maps.Keys(r.Turnaround))) {
		if users >= c.Load.Concurrency || d.Turnaround == nil {
			d.Turnaround = r.Turnaround[users]
		}
	}
	if l := c.Shape.Output; c.Load.Concurrency > 1 && l.Min != l.Max {
		d.Turnaround = r.Apart
	}
	return d
}

// check says which delay is missing.
func (m *MachineDelays) check() error {
	if len(m.Rounds) == 0 {
		return errors.New("this machine's delays: there are no rounds")
	}
	for i := range m.Rounds {
		if err := m.Rounds[i].check(); err != nil {
			return err
		}
	}
	return nil
}

func (m *DelayRound) check() error {
	for _, d := range []struct {
		what string
		simulate.Distribution
	}{
		{"turnaround_ns", m.Turnaround[turnaroundUsers[0]]},
		{"turnaround_apart_ns", m.Apart},
		{"arrival_ns", m.Arrival},
		{"leaving_ns", m.Leaving},
	} {
		if len(d.Distribution) == 0 {
			return fmt.Errorf("this machine's delays: there is no %s", d.what)
		}
	}
	if len(m.Bursts) == 0 {
		return errors.New("this machine's delays: there is no bursts_ns")
	}
	return nil
}

// delaySteps is how many steps the quantiles of a delay have.
const delaySteps = 50

// Each load that delays are measured on asks for another number of output tokens,
// by which its requests are known in the event log. Probes ask for one.
const (
	turnaroundOutput = 32 // and as many more as there are users
	arrivalOutput    = 16
	burstOutput      = 8
	leavingOutput    = 24
	leavingAfter     = 12
	apartOutput      = 100 // to twice as many
)

// There are so many bursts of so many requests.
const (
	bursts    = 3
	burstSize = 64
)

// delayRounds is how often all of it is measured.
const delayRounds = 3

// turnaroundUsers are the closed loops whose turnaround is measured, apartUsers that
// of different lengths.
var turnaroundUsers = []int{1, 16, 64}

const apartUsers = 64

// MeasureDelays measures what this machine adds, which takes some forty seconds.
func MeasureDelays(ctx context.Context, start Start) (*MachineDelays, error) {
	m := &MachineDelays{}
	for range delayRounds {
		round, err := measureRound(ctx, start)
		if err != nil {
			return nil, fmt.Errorf("measure this machine's delays: %w", err)
		}
		m.Rounds = append(m.Rounds, *round)
	}
	return m, m.check()
}

func measureRound(ctx context.Context, start Start) (*DelayRound, error) {
	s, err := startSimulator(start, base, 1)
	if err != nil {
		return nil, err
	}
	defer s.remove()
	for _, w := range delayLoads() {
		result, err := bench.Run(ctx, bench.Config{URL: s.url, Workload: w.Workload, Leave: w.leave})
		if err == nil && result.Interrupted {
			err = ctx.Err()
		}
		if err != nil {
			s.stop()
			return nil, err
		}
	}
	s.stop()
	log, err := os.ReadFile(s.eventLog)
	if err != nil {
		return nil, err
	}
	return delaysOf(log)
}

type delayLoad struct {
	bench.Workload
	leave load.Leave
}

func delayLoads() []delayLoad {
	burst := bench.Load{Arrivals: arrival.Process{Kind: arrival.KindBurst, Requests: burstSize}}
	all := []delayLoad{{Workload: arrivalLoad()}}
	for range bursts {
		all = append(all, delayLoad{Workload: shortRequests(burstOutput, 100*time.Millisecond, burst)})
	}
	for _, users := range turnaroundUsers {
		all = append(all, delayLoad{Workload: shortRequests(turnaroundOutput+users, 1500*time.Millisecond, bench.Users(users))})
	}
	apart := shortRequests(apartOutput, 3*time.Second, bench.Users(apartUsers))
	apart.Shape.Output.Max = 2 * apartOutput
	return append(all, delayLoad{Workload: apart}, delayLoad{
		Workload: shortRequests(leavingOutput, time.Second, bench.Users(16)),
		leave:    load.Leave{Fraction: 1, AfterTokens: leavingAfter},
	})
}

// arrivalLoad is the open loop.
func arrivalLoad() bench.Workload {
	return shortRequests(arrivalOutput, 3*time.Second, bench.AtRate(60))
}

func shortRequests(output int, duration time.Duration, l bench.Load) bench.Workload {
	return bench.Workload{
		Loads: []bench.Load{l}, Duration: duration, Seed: 1,
		Shape: workload.Shape{Prompt: workload.Fixed(64), Output: workload.Fixed(output)},
	}
}
