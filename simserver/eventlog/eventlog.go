// Package eventlog writes what a live engine acted on to a file, each event in
// its effective place, and reads it for a replay in virtual time. Engines go in
// through their Log; JSON Lines come out, and the other way round. It decides
// nothing and knows no clock.
//
// Each replica of a model is an engine with a timeline of its own. The lines of
// one, which name it by "model" and "replica" (from 0), in order:
//
//	{"event":"model","timeline":…}               what the engine was built from
//	{"event":"arrive","turn":…,"id":…,…}         a request reached the scheduler
//	{"event":"abort","turn":…,"id":…,"at_ns":…}  one was taken out of it
//	{"event":"end","id":…,"choices":[…],…}       what became of one
//
// turn counts the actions of the engine's loop that came before. Moments are
// nanoseconds of the simulated timeline.
package eventlog

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"llmsim-bench/internal/wholefile"
	"llmsim-bench/simserver/engine"
)

// line is any line of the file; which fields it has is up to Event.
type line struct {
	Event string `json:"event"`
	Model string `json:"model"`
	// Replica is an index, 0 for a model that has one only.
	Replica int `json:"replica"`
	// Timeline describes what the model's engine was built from.
	Timeline string `json:"timeline,omitempty"`

	Turn int64  `json:"turn,omitempty"`
	ID   uint64 `json:"id"`
	// AtNS is the raw moment: of the arrival, or of the abort.
	AtNS int64 `json:"at_ns,omitempty"`

	Prompt    []uint32 `json:"prompt,omitempty"`
	MaxTokens int      `json:"max_tokens,omitempty"`
	Priority  int      `json:"priority,omitempty"`

	Aborted bool     `json:"aborted,omitempty"`
	Choices []choice `json:"choices,omitempty"`
}

// choice is one choice of a request: what it says when it arrives, what became of it
// and when its tokens were due when it has ended.
type choice struct {
	Output []uint32 `json:"output,omitempty"`
	Finish string   `json:"finish,omitempty"`
	DueNS  []int64  `json:"due_ns,omitempty"`

	QueueNS     int64 `json:"queue_ns,omitempty"`
	Cached      int   `json:"cached_tokens,omitempty"`
	Preemptions int   `json:"preemptions,omitempty"`
}

const (
	eventModel  = "model"
	eventArrive = "arrive"
	eventAbort  = "abort"
	eventEnd    = "end"
)

// Writer writes the events of any number of models to one file. Engines hand
// them over without waiting; a goroutine of its own writes.
type Writer struct {
	file   *wholefile.File
	buffer *bufio.Writer
	lines  *json.Encoder

	mu      sync.Mutex
	more    sync.Cond
	queue   []func() line
	closed  bool
	written chan error
}

// Create begins a log. It has its name after Close; until then, and after a crash,
// ".partial" stands at the end of it.
func Create(path string) (*Writer, error) {
	f, err := wholefile.Create(path)
	if err != nil {
		return nil, fmt.Errorf("create the event log: %w", err)
	}
	w := &Writer{file: f, buffer: bufio.NewWriterSize(f, 256<<10), written: make(chan error, 1)}
	w.lines = json.NewEncoder(w.buffer)
	w.more.L = &w.mu
	go func() { w.written <- w.write() }()
	return w, nil
}

// Close writes what is left. The engines must have stopped.
func (w *Writer) Close() error {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.more.Signal()
	err := errors.Join(<-w.written, w.buffer.Flush())
	if err == nil {
		err = w.file.Commit()
	} else {
		err = errors.Join(err, w.file.Keep())
	}
	if err != nil {
		return fmt.Errorf("write the event log %s: %w", w.file.Name(), err)
	}
	return nil
}

// write encodes lines until Close.
func (w *Writer) write() error {
	var failed error
	var batch []func() line
	for {
		w.mu.Lock()
		for len(w.queue) == 0 && !w.closed {
			w.more.Wait()
		}
		batch, w.queue = w.queue, batch[:0]
		over := w.closed && len(batch) == 0
		w.mu.Unlock()
		if over {
			return failed
		}
		for i, make := range batch {
			if failed == nil {
				failed = w.lines.Encode(make())
			}
			batch[i] = nil
		}
	}
}

func (w *Writer) add(make func() line) {
	w.mu.Lock()
	w.queue = append(w.queue, make)
	w.mu.Unlock()
	w.more.Signal()
}

// Model returns the Log of one replica of a model. timeline describes what its
// engine is built from: a replay must have the same.
func (w *Writer) Model(name string, replica int, timeline string) engine.Log {
	w.add(func() line { return line{Event: eventModel, Model: name, Replica: replica, Timeline: timeline} })
	return &modelLog{writer: w, name: name, replica: replica}
}

// modelLog implements engine.Log.
type modelLog struct {
	writer  *Writer
	name    string
	replica int
}

func (m *modelLog) Arrived(turn int64, r *engine.Request) {
	m.writer.add(func() line {
		l := line{
			Event: eventArrive, Model: m.name, Replica: m.replica, Turn: turn, ID: r.Serial(), AtNS: r.Arrival,
			MaxTokens: r.Plan.MaxTokens, Priority: r.Plan.Priority,
		}
		for _, id := range r.Plan.Prompt {
			l.Prompt = append(l.Prompt, uint32(id))
		}
		for _, c := range r.Plan.Choices {
			said := choice{Finish: c.FinishReason}
			for _, t := range c.Tokens {
				said.Output = append(said.Output, uint32(t.ID))
			}
			l.Choices = append(l.Choices, said)
		}
		return l
	})
}

func (m *modelLog) Aborted(turn int64, r *engine.Request, at int64) {
	m.writer.add(func() line {
		return line{Event: eventAbort, Model: m.name, Replica: m.replica, Turn: turn, ID: r.Serial(), AtNS: at}
	})
}

func (m *modelLog) Ended(r *engine.Request, aborted bool) {
	m.writer.add(func() line {
		l := line{Event: eventEnd, Model: m.name, Replica: m.replica, ID: r.Serial(), Aborted: aborted}
		for _, t := range r.Timelines {
			l.Choices = append(l.Choices, choice{
				DueNS: t.Due[:len(t.Released)], QueueNS: t.Queue, Cached: t.CachedTokens, Preemptions: t.Preemptions,
			})
		}
		return l
	})
}
