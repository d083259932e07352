package simulate

import (
	"bufio"
	"encoding/json"
	"io"

	"llmsim-bench/bench"
	"llmsim-bench/simserver/engine"
	"llmsim-bench/simserver/sched"
	"llmsim-bench/simserver/virtual"
)

// trace writes each step as a line of JSON.
type trace struct {
	buffer *bufio.Writer
	lines  *json.Encoder
	line   traceLine
	names  []int64 // of requests, by slot
	err    error
}

// traceLine is one step. Moments are nanoseconds since the load began.
type traceLine struct {
	Load        string          `json:"load"`
	Step        int64           `json:"step"`
	ScheduledNS int64           `json:"scheduled_ns"` // the Schedule call
	StartNS     int64           `json:"start_ns"`
	EndNS       int64           `json:"end_ns"`
	Tokens      int             `json:"tokens"`
	Sequences   []traceSequence `json:"sequences"`
	Preempted   []int64         `json:"preempted,omitempty"` // requests
	Running     int             `json:"running"`
	Waiting     int             `json:"waiting"`
	FreeBlocks  int             `json:"free_blocks"`
}

// traceSequence is one request's part of a step.
type traceSequence struct {
	Request  int64  `json:"request"`
	Context  int32  `json:"context"` // tokens computed before the step
	New      int32  `json:"new"`     // tokens computed in it
	Prefill  bool   `json:"prefill,omitempty"`
	Admitted string `json:"admitted,omitempty"` // "new" or "resumed"
	Cached   int32  `json:"cached,omitempty"`   // tokens from the prefix cache
}

func newTrace(w io.Writer, l bench.Load) *trace {
	t := &trace{buffer: bufio.NewWriter(w), line: traceLine{Load: l.String()}}
	t.lines = json.NewEncoder(t.buffer)
	return t
}

// begin learns which request a slot stands for.
func (t *trace) begin(id sched.ID, request int64) {
	for id.Slot() >= len(t.names) {
		t.names = append(t.names, 0)
	}
	t.names[id.Slot()] = request
}

func (t *trace) step(step *sched.Step, at engine.StepTime, s *sched.Scheduler) {
	l := &t.line
	l.ScheduledNS, l.StartNS, l.EndNS, l.Tokens = at.Scheduled, at.Start, at.End, step.Tokens
	l.Running, l.Waiting, l.FreeBlocks = s.NumRunning(), s.NumWaiting(), s.FreeBlocks()
	l.Sequences, l.Preempted = l.Sequences[:0], l.Preempted[:0]
	for _, q := range step.Seqs {
		l.Sequences = append(l.Sequences, traceSequence{
			Request: t.names[q.ID.Slot()], Context: q.Context, New: q.New, Prefill: q.Prefill,
		})
	}
	// Those that were admitted are the last of the step.
	admitted := l.Sequences[len(l.Sequences)-len(step.Admitted):]
	for i, a := range step.Admitted {
		admitted[i].Admitted, admitted[i].Cached = "new", a.Cached
		if a.Resumed {
			admitted[i].Admitted = "resumed"
		}
	}
	for _, id := range step.Preempted {
		l.Preempted = append(l.Preempted, t.names[id.Slot()])
	}
	if err := t.lines.Encode(l); err != nil && t.err == nil {
		t.err = err
	}
	l.Step++
}

func (t *trace) flush() error {
	if err := t.buffer.Flush(); err != nil && t.err == nil {
		t.err = err
	}
	return t.err
}

// Added implements virtual.Observer.
func (o *observer) Added(id sched.ID, out *virtual.Outcome) {
	if o.trace != nil {
		o.trace.begin(id, out.ID)
	}
}

// Step implements virtual.Observer.
func (o *observer) Step(step *sched.Step, at engine.StepTime, s *sched.Scheduler) {
	o.Collector.Step(step, at, s)
	if o.trace != nil {
		o.trace.step(step, at, s)
	}
}
