package experiments

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"llmsim-bench/experiments/simulate"
)

// loggedRequest is what the event log says of one request.
type loggedRequest struct {
	arrived int64
	last    int64 // when its last token was due that was sent
	aborted int64 // when its client was known to have left
}

// readLog returns the requests of an event log by how many output tokens their
// load asks for, in order of arrival.
func readLog(log []byte) (map[int][]*loggedRequest, error) {
	requests := make(map[uint64]*loggedRequest)
	all := make(map[int][]*loggedRequest)
	for number, text := range bytes.Split(bytes.TrimSpace(log), []byte("\n")) {
		var line struct {
			Event     string `json:"event"`
			ID        uint64 `json:"id"`
			AtNS      int64  `json:"at_ns"`
			MaxTokens int    `json:"max_tokens"`
			Choices   []struct {
				DueNS []int64 `json:"due_ns"`
			} `json:"choices"`
		}
		if err := json.Unmarshal(text, &line); err != nil {
			return nil, fmt.Errorf("event log, line %d: %w", number+1, err)
		}
		switch r := requests[line.ID]; line.Event {
		case "arrive":
			r := &loggedRequest{arrived: line.AtNS}
			requests[line.ID] = r
			load := line.MaxTokens
			if load > apartOutput {
				load = apartOutput
			}
			all[load] = append(all[load], r)
		case "abort":
			if r != nil {
				r.aborted = line.AtNS
			}
		case "end":
			if r != nil && len(line.Choices) == 1 && len(line.Choices[0].DueNS) > 0 {
				r.last = line.Choices[0].DueNS[len(line.Choices[0].DueNS)-1]
			}
		}
	}
	for _, of := range all {
		slices.SortFunc(of, func(a, b *loggedRequest) int { return cmp.Compare(a.arrived, b.arrived) })
	}
	return all, nil
}

// delaysOf reads the delays out of the event log of the loads of delayLoads.
func delaysOf(log []byte) (*DelayRound, error) {
	requests, err := readLog(log)
	if err != nil {
		return nil, err
	}
	m := &DelayRound{
		Turnaround: make(map[int]simulate.Distribution),
		Bursts:     burstDelays(requests[burstOutput]),
		Leaving:    quantiles(leavingDelays(requests[leavingOutput])),
		Apart:      quantiles(turnarounds(requests[apartOutput], apartUsers)),
	}
	for _, users := range turnaroundUsers {
		m.Turnaround[users] = quantiles(turnarounds(requests[turnaroundOutput+users], users))
	}
	arrivals, err := arrivalDelays(requests[arrivalOutput])
	if err != nil {
		return nil, err
	}
	m.Arrival = quantiles(arrivals)
	return m, m.check()
}

// turnarounds returns how long after each answer's end the request came that
// followed it. Whose answer a request follows is not known; as each user has one
// request at a time, the n-th end makes room for the n-th request after the first
// of all users.
func turnarounds(requests []*loggedRequest, users int) []int64 {
	var ends []int64
	for _, r := range requests {
		if r.last > 0 {
			ends = append(ends, r.last)
		}
	}
	slices.Sort(ends)
	var all []int64
	for i := users; i < len(requests) && i-users < len(ends); i++ {
		all = append(all, max(requests[i].arrived-ends[i-users], 0))
	}
	return all
}

// arrivalDelays compares arrivals with when they were due. The two clocks differ
// by a constant that nobody knows: what counts from the least late does not need
// it.
func arrivalDelays(requests []*loggedRequest) ([]int64, error) {
	open := arrivalLoad()
	source, err := open.Source(0, noWorkload{}, 0)
	if err != nil {
		return nil, err
	}
	late := make([]int64, len(requests))
	for i, r := range requests {
		job, _ := source.Next()
		late[i] = r.arrived - int64(job.Due)
	}
	least := int64(0)
	if len(late) > 0 {
		least = slices.Min(late)
	}
	for i := range late {
		late[i] -= least
	}
	return late, nil
}

// burstDelays returns how much later than the first of its burst each request came.
func burstDelays(requests []*loggedRequest) []simulate.Distribution {
	var all []simulate.Distribution
	for burst := range slices.Chunk(requests, burstSize) {
		var late []int64
		for _, r := range burst {
			late = append(late, r.arrived-burst[0].arrived)
		}
		all = append(all, quantiles(late))
	}
	return all
}

// leavingDelays returns how long after a client's last token it was known to have
// left.
func leavingDelays(requests []*loggedRequest) []int64 {
	var late []int64
	for _, r := range requests {
		if r.aborted > 0 && r.last > 0 {
			late = append(late, max(r.aborted-r.last, 0))
		}
	}
	return late
}

// quantiles sorts values and returns their quantiles, in whole microseconds.
func quantiles(values []int64) simulate.Distribution {
	slices.Sort(values)
	d := simulate.NewDistribution(values, delaySteps)
	for i := range d {
		d[i] = int64(time.Duration(d[i]).Round(time.Microsecond))
	}
	return d
}

// noWorkload is a workload whose requests nobody reads.
type noWorkload struct{}

func (noWorkload) AppendPrompt(dst []byte, _ int64) []byte { return dst }
func (noWorkload) PromptTokens(int64) int                  { return 1 }
func (noWorkload) OutputTokens(int64) int                  { return 1 }
