package eventlog

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"llmsim-bench/simserver/engine"
	"llmsim-bench/simserver/sched"
	"llmsim-bench/simserver/virtual"
)

// maxChoices is how many choices a request's sequences are numbered for.
const maxChoices = 128

// Log is what the engine of one replica acted on, and what came of it.
type Log struct {
	Model string
	// Replica is an index, 0 for a model that has one only.
	Replica int
	// Timeline describes what the engine was built from.
	Timeline string
	Events   []virtual.Event
	// Ends by the ID of the sequence.
	Ends map[int64]End

	choices map[uint64]int // of each request
}

// End is what became of one sequence.
type End struct {
	// Due is when each token was due that was sent.
	Due         []int64
	QueueNS     int64
	Cached      int
	Preemptions int
	// Aborted: tokens after the last one may have been due that nobody got.
	Aborted bool
}

// Read reads a log. A last line that a crash has cut is left out; any other bad
// line is an error that names it.
func Read(r io.Reader) ([]*Log, error) {
	var logs []*Log
	type replica struct {
		model string
		index int
	}
	byReplica := make(map[replica]*Log)
	in := bufio.NewReaderSize(r, 256<<10)
	for number := 1; ; number++ {
		text, err := in.ReadBytes('\n')
		if err != nil {
			if errors.Is(err, io.EOF) {
				return logs, nil
			}
			return nil, fmt.Errorf("event log: %w", err)
		}
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			return nil, fmt.Errorf("event log, line %d: %w", number, err)
		}
		of := replica{l.Model, l.Replica}
		log := byReplica[of]
		if log == nil {
			if l.Event != eventModel {
				return nil, fmt.Errorf("event log, line %d: an event of model %q, replica %d, which no line before it introduces", number, l.Model, l.Replica)
			}
			log = &Log{Model: l.Model, Replica: l.Replica, Timeline: l.Timeline, Ends: make(map[int64]End), choices: make(map[uint64]int)}
			byReplica[of] = log
			logs = append(logs, log)
			continue
		}
		if err := log.add(&l); err != nil {
			return nil, fmt.Errorf("event log, line %d: %w", number, err)
		}
	}
}

func (log *Log) add(l *line) error {
	if len(l.Choices) > maxChoices {
		return fmt.Errorf("%d choices, at most %d are possible", len(l.Choices), maxChoices)
	}
	if last := len(log.Events) - 1; l.Event != eventEnd && last >= 0 && log.Events[last].Turn > l.Turn {
		return fmt.Errorf("turn %d comes after turn %d", l.Turn, log.Events[last].Turn)
	}
	switch l.Event {
	case eventArrive:
		log.choices[l.ID] = len(l.Choices)
		for i, c := range l.Choices {
			log.Events = append(log.Events, virtual.Event{Turn: l.Turn, Request: virtual.Request{
				ID: sequenceID(l.ID, i), Arrival: l.AtNS, Measured: true,
				Request: sched.Request{
					Prompt: l.Prompt, Output: c.Output, Stops: engine.Stops(c.Finish, len(c.Output), l.MaxTokens),
					MaxTokens: max(l.MaxTokens, len(c.Output)), Priority: l.Priority, ArrivalNS: l.AtNS,
				},
			}})
		}
	case eventAbort:
		for i := range log.choices[l.ID] {
			log.Events = append(log.Events, virtual.Event{Turn: l.Turn, Aborted: true, ID: sequenceID(l.ID, i)})
		}
	case eventEnd:
		for i, c := range l.Choices {
			log.Ends[sequenceID(l.ID, i)] = End{
				Due: c.DueNS, QueueNS: c.QueueNS, Cached: c.Cached, Preemptions: c.Preemptions, Aborted: l.Aborted,
			}
		}
	default:
		return fmt.Errorf("unknown event %q", l.Event)
	}
	return nil
}

func sequenceID(request uint64, choice int) int64 { return int64(request)*maxChoices + int64(choice) }
