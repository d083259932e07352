// Package metrics is the account behind /metrics/summary: how many requests
// came and what became of them, and the distributions of their times, as the
// simulated timeline has them and as the server released them. Requests go in
// one by one when they begin and end; a wire.Summary comes out. It must not know
// HTTP, engines or any clock: every moment is given to it.
package metrics

import (
	"fmt"
	"sync"

	"llmsim-bench/internal/wire"
)

// maxPhases is how many named phases are kept; past it the oldest is dropped.
const maxPhases = 64

// Model is a model that requests can be for.
type Model struct {
	Name, Engine string
	// Steps counts the steps of the model's engine; nil where it has none.
	Steps StepCounter
	// Replicas is nil where there is one only.
	Replicas Replicated
}

// A StepCounter is an engine's account of its steps. It is safe for concurrent use.
type StepCounter interface {
	// Steps returns what was counted since the last ResetSteps.
	Steps() *wire.Steps
	ResetSteps()
}

// A Replicated engine is several behind one model. It is safe for concurrent use.
type Replicated interface {
	// Replicas returns each one's share since the last ResetSteps.
	Replicas() []wire.Replica
}

// Registry counts each request twice: in the period in which it arrived, which
// lasts from one Reset to the next, and in the phase it names, if it names one.
// It is safe for concurrent use.
type Registry struct {
	models    []Model
	timeScale float64

	mu     sync.Mutex
	period scope
	phases map[string]scope
	order  []string // the names of phases, oldest first
}

// scope holds one tally a model.
type scope map[string]*tally

// New returns a registry for these models, whose names must differ. All moments
// given to it are of a clock that runs timeScale times as fast as the wall clock;
// what the server did is reported in wall time, what is simulated as it is.
func New(models []Model, timeScale float64) *Registry {
	r := &Registry{models: models, timeScale: timeScale, phases: make(map[string]scope)}
	r.period = r.newScope()
	return r
}

func (r *Registry) newScope() scope {
	s := make(scope, len(r.models))
	for _, m := range r.models {
		s[m.Name] = &tally{times: times{timeScale: r.timeScale}}
	}
	return s
}

// Begin counts a request that has arrived and was accepted; its End must be
// called. phase may be empty; bounding its length is the caller's part. It
// panics if the model is not one of New's.
func (r *Registry) Begin(model, phase string, promptTokens int) *Request {
	q := &Request{tallies: r.tallies(model, phase), promptTokens: promptTokens}
	for _, t := range q.tallies {
		t.received.Add(1)
	}
	return q
}

// Reject counts a request that was refused for a reason, instead of Begin.
func (r *Registry) Reject(model, phase, reason string) {
	for _, t := range r.tallies(model, phase) {
		t.reject(reason)
	}
}

// tallies returns those that count a request that arrives now.
func (r *Registry) tallies(model, phase string) []*tally {
	r.mu.Lock()
	defer r.mu.Unlock()
	ofPeriod, known := r.period[model]
	if !known {
		panic(fmt.Sprintf("metrics: model %q was not given to New", model))
	}
	if phase == "" {
		return []*tally{ofPeriod}
	}
	return []*tally{ofPeriod, r.phase(phase)[model]}
}

// phase returns the scope of a phase, a new one at its first request. The lock
// is held.
func (r *Registry) phase(name string) scope {
	s, known := r.phases[name]
	if known {
		return s
	}
	if len(r.order) == maxPhases {
		delete(r.phases, r.order[0])
		r.order = r.order[1:]
	}
	s = r.newScope()
	r.phases[name] = s
	r.order = append(r.order, name)
	return s
}

// Reset begins a new period, without the requests that are still running.
// Named phases stay as they are.
func (r *Registry) Reset() {
	fresh := r.newScope()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.period = fresh
	for _, m := range r.models {
		if m.Steps != nil {
			m.Steps.ResetSteps()
		}
	}
}

// Summary sums up the requests of a phase, or, where phase is empty, those that
// arrived since the last Reset. A phase that no request has named (or that was
// dropped) is one without requests: every model is there, with counts of 0.
func (r *Registry) Summary(phase string) wire.Summary {
	r.mu.Lock()
	s := r.period
	if phase != "" {
		s = r.phases[phase]
	}
	r.mu.Unlock()

	sum := wire.Summary{
		Schema: wire.SummarySchema, Phase: phase, TimeScale: r.timeScale,
		Models: make(map[string]wire.Model, len(r.models)),
	}
	for _, m := range r.models {
		t := s[m.Name]
		if t == nil {
			t = &tally{}
		}
		model := t.summary(m.Engine)
		if phase == "" && m.Steps != nil { // a step belongs to no phase
			model.Steps = m.Steps.Steps()
		}
		if phase == "" && m.Replicas != nil {
			model.Replicas = m.Replicas.Replicas()
		}
		sum.Models[m.Name] = model
	}
	return sum
}
