package selftest

import "time"

// Plan says how thoroughly a client is tried.
type Plan struct {
	Quick bool
	// Quiet is how long the machine is watched before there is any load.
	Quiet    time.Duration
	Requests Stage // level: requests/s
	Events   Stage // level: events/s
	Streams  Stage // level: streams at once
	// Dispatch is how long lateness is compared, and at which requests/s at most.
	Dispatch     time.Duration
	DispatchRate float64
	// Seed draws arrivals and prompts.
	Seed uint64
}

// Stage is one part of a plan.
type Stage struct {
	Ladder Ladder
	// Window is how long each step is measured, after Warmup.
	Warmup, Window time.Duration
	// Budget is the time after which no step is begun.
	Budget time.Duration
}

// The loads. Streams of the second part last half a second; those of the third
// last as long as their step.
const (
	promptTokens = 512 // as run and sweep ask by default
	streamEvents = 100
	eventPace    = 5 * time.Millisecond
	slowPace     = time.Second
	streamTime   = streamEvents * eventPace
	// Streams of the third part are opened at a quarter of the requests/s that are
	// sustained, within these bounds.
	opensPerS        = 2000.0
	slowestOpensPerS = 1000.0
	highestRate      = 1 << 18
	highestEvents    = 1 << 22
)

// Full returns the plan of about 40 s, with at most so many streams at once.
func Full(streams int) Plan {
	return Plan{
		Quiet:        time.Second,
		Requests:     Stage{climb(500, highestRate, 2), 300 * time.Millisecond, time.Second, 12 * time.Second},
		Events:       Stage{climb(5000, highestEvents, 2), streamTime + 100*time.Millisecond, 800 * time.Millisecond, 12 * time.Second},
		Streams:      Stage{climb(float64(streams)/4, float64(streams), 0), 300 * time.Millisecond, time.Second, 10 * time.Second},
		Dispatch:     2 * time.Second,
		DispatchRate: 2000,
		Seed:         1,
	}
}

// Quick returns the plan of about 10 s.
func Quick(streams int) Plan {
	return Plan{
		Quick:        true,
		Quiet:        300 * time.Millisecond,
		Requests:     Stage{climb(1000, highestRate, 0), 150 * time.Millisecond, 400 * time.Millisecond, 3 * time.Second},
		Events:       Stage{climb(10_000, highestEvents, 0), streamTime + 50*time.Millisecond, 400 * time.Millisecond, 4 * time.Second},
		Streams:      Stage{climb(float64(streams), float64(streams), 0), 150 * time.Millisecond, 500 * time.Millisecond, 2 * time.Second},
		Dispatch:     800 * time.Millisecond,
		DispatchRate: 2000,
		Seed:         1,
	}
}

func climb(from, to float64, refine int) Ladder {
	return Ladder{Start: max(min(from, to), 1), Factor: 2, Max: max(to, 1), Refine: refine, Tries: 3}
}
