package simulate

import (
	"fmt"
	"io"
	"slices"

	"llmsim-bench/simserver"
	"llmsim-bench/simserver/config"
	"llmsim-bench/simserver/engine"
	"llmsim-bench/simserver/eventlog"
	"llmsim-bench/simserver/sched"
	"llmsim-bench/simserver/virtual"
)

// Replayed is what the replay of one replica's event log came to.
type Replayed struct {
	Model string `json:"model"`
	// Replica is an index, 0 for a model that has one only.
	Replica int `json:"replica"`
	// Requests that ended, one a choice; of these, Aborted early.
	Requests int `json:"requests"`
	Aborted  int `json:"aborted"`
	// AbortedTokens are the fewest and the most tokens that an aborted request had
	// when it was taken out, by the replay.
	AbortedTokens [2]int `json:"aborted_tokens,omitzero"`
	Tokens        int    `json:"tokens"`
	Steps         int    `json:"steps"`
	// Preemptions of all requests.
	Preemptions int `json:"preemptions"`
	// Differences are those whose times, queue time or preemptions are not the live
	// run's, with the first few described.
	Differences int      `json:"differences"`
	Examples    []string `json:"examples,omitempty"`
}

// maxExamples is how many differences are described.
const maxExamples = 5

// Replay repeats the live run that wrote an event log in virtual time, each
// replica on its own, on the models of the same configuration, and compares every request's times with the
// live ones.
func Replay(log io.Reader, models *config.Config) ([]Replayed, error) {
	logs, err := eventlog.Read(log)
	if err != nil {
		return nil, err
	}
	if len(logs) == 0 {
		return nil, fmt.Errorf("the event log is empty")
	}
	var all []Replayed
	for _, l := range logs {
		i := slices.IndexFunc(models.Models, func(m config.Model) bool { return m.Name == l.Model })
		if i < 0 {
			return nil, fmt.Errorf("the log is of model %q, which the configuration lacks", l.Model)
		}
		if n := models.Models[i].Replicas; l.Replica < 0 || l.Replica >= n {
			return nil, fmt.Errorf("the log is of model %q, replica %d, of which the configuration has %d, from 0", l.Model, l.Replica, n)
		}
		r, err := replay(l, models.Models[i])
		if err != nil {
			return nil, fmt.Errorf("model %q, replica %d: %w", l.Model, l.Replica, err)
		}
		all = append(all, r)
	}
	return all, nil
}

func replay(l *eventlog.Log, m config.Model) (Replayed, error) {
	timeline, err := simserver.NewTimeline(m)
	if err != nil {
		return Replayed{}, err
	}
	if timeline.Description != l.Timeline {
		return Replayed{}, fmt.Errorf("the log is of another configuration\n  log:  %s\n  here: %s", l.Timeline, timeline.Description)
	}
	c := comparison{got: make(map[int64]*replayedRequest), result: Replayed{Model: l.Model, Replica: l.Replica}}
	if err := virtual.Replay(timeline.Loop, timeline.FrontEnd, l.Events, &c); err != nil {
		return Replayed{}, err
	}
	for id, end := range l.Ends {
		c.compare(id, end)
	}
	return c.result, nil
}

// comparison is the Observer of a replay.
type comparison struct {
	got    map[int64]*replayedRequest
	result Replayed
}

type replayedRequest struct {
	due []int64
	virtual.Outcome
}

// Added implements virtual.Observer.
func (c *comparison) Added(_ sched.ID, o *virtual.Outcome) {
	c.got[o.ID] = &replayedRequest{Outcome: *o}
}

// Step implements virtual.Observer.
func (c *comparison) Step(step *sched.Step, _ engine.StepTime, _ *sched.Scheduler) {
	c.result.Steps++
	c.result.Preemptions += len(step.Preempted)
}

// Admitted implements virtual.Observer.
func (c *comparison) Admitted(o *virtual.Outcome) { c.got[o.ID].Outcome = *o }

// Token implements virtual.Observer.
func (c *comparison) Token(o *virtual.Outcome, _ int64) {
	got := c.got[o.ID]
	got.due = append(got.due, o.Last)
	got.Outcome = *o
}

// Ended implements virtual.Observer.
func (c *comparison) Ended(o *virtual.Outcome) { c.got[o.ID].Outcome = *o }

// Left implements virtual.Observer.
func (c *comparison) Left(o *virtual.Outcome) { c.got[o.ID].Outcome = *o }

// compare holds a request's replay against its live end.
func (c *comparison) compare(id int64, live eventlog.End) {
	c.result.Requests++
	c.result.Tokens += len(live.Due)
	got := c.got[id]
	if got == nil {
		c.differ("request %d ended live but is not in the log", id)
		return
	}
	due := got.due
	if live.Aborted { // a last token may have been due that nobody got
		c.countAborted(len(due))
		due = due[:min(len(due), len(live.Due))]
	}
	switch queue := got.Admitted - got.Queued; {
	case !slices.Equal(due, live.Due):
		from := firstDifference(due, live.Due)
		c.differ("request %d, from token %d on: live tokens at %d, virtual at %d ns",
			id, from, beginning(live.Due[from:]), beginning(due[from:]))
	case live.Aborted: // it may not have got into a step, or been preempted since
	case queue != live.QueueNS || got.Cached != live.Cached || got.Preemptions != live.Preemptions:
		c.differ("request %d: live queue %d ns, %d cached tokens, %d preemptions; virtual %d, %d, %d",
			id, live.QueueNS, live.Cached, live.Preemptions, queue, got.Cached, got.Preemptions)
	}
}

// countAborted counts a request that was taken out with so many tokens.
func (c *comparison) countAborted(tokens int) {
	r := &c.result
	if r.Aborted++; r.Aborted == 1 {
		r.AbortedTokens = [2]int{tokens, tokens}
	}
	r.AbortedTokens = [2]int{min(r.AbortedTokens[0], tokens), max(r.AbortedTokens[1], tokens)}
}

// firstDifference is the index from which two lists differ, as they do.
func firstDifference(a, b []int64) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// beginning is as much of a list as a person wants to read.
func beginning(moments []int64) []int64 { return moments[:min(3, len(moments))] }

func (c *comparison) differ(format string, args ...any) {
	c.result.Differences++
	if len(c.result.Examples) < maxExamples {
		c.result.Examples = append(c.result.Examples, fmt.Sprintf(format, args...))
	}
}
