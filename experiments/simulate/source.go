package simulate

import (
	"bytes"
	"hash/fnv"
	"slices"
	"time"

	"llmsim-bench/bench/load"
	"llmsim-bench/bench/record"
	"llmsim-bench/bench/workload"
	"llmsim-bench/simserver/sched"
	"llmsim-bench/simserver/virtual"
)

// source hands a load generator's requests to a virtual engine, each as late as
// the delays say.
type source struct {
	point  *point
	from   load.Source
	closed bool
	// next is the job that is due next, if ready; coming are those that were due
	// and are on their way, by arrival.
	next   load.Job
	ready  bool
	coming []arriving

	// readsPrompts says that the engine looks at the tokens of prompts, not only at
	// their number.
	readsPrompts bool
	prompt       []uint32
	output       []uint32
}

// arriving is a job on its way to the server.
type arriving struct {
	load.Job
	at int64
}

func newSource(p *point) (*source, error) {
	// A template that adds nothing, and words of one token each, as the simulator's
	// regex tokenizer has them.
	requests, err := p.config.Requests(p.index, workload.Uncalibrated(), p.nextID)
	if err != nil {
		return nil, err
	}
	closed := p.config.Loads[p.index].Concurrency > 0
	s := &source{point: p, closed: closed, readsPrompts: p.timeline.Config.EnablePrefixCaching}
	if !s.readsPrompts {
		requests = withoutText{requests}
	}
	s.from, err = p.config.Source(p.index, requests, p.nextID)
	return s, err
}

// withoutText is a workload whose texts are not needed.
type withoutText struct{ load.Workload }

func (withoutText) AppendPrompt(dst []byte, _ int64) []byte { return dst }

// Peek implements virtual.Source.
func (s *source) Peek() (int64, bool) {
	for {
		if !s.ready {
			job, state := s.from.Next()
			s.next, s.ready = job, state == load.Ready
		}
		if !s.ready || len(s.coming) > 0 && int64(s.next.Due) >= s.coming[0].at {
			break // nothing that is not due yet arrives before what comes first
		}
		s.send()
	}
	if len(s.coming) == 0 {
		return 0, false
	}
	return s.coming[0].at, true
}

// send puts the next job on its way.
func (s *source) send() {
	s.ready = false
	at := int64(s.next.Due) + s.point.config.Delays.of(s.next.ID, s.closed)
	i, _ := slices.BinarySearchFunc(s.coming, at, func(a arriving, at int64) int {
		if a.at <= at {
			return -1 // behind its equals
		}
		return 1
	})
	s.coming = slices.Insert(s.coming, i, arriving{s.next, at})
}

// Pop implements virtual.Source.
func (s *source) Pop() virtual.Request {
	job := s.coming[0]
	s.coming = slices.Delete(s.coming, 0, 1)
	s.point.nextID = max(s.point.nextID, job.ID+1)
	measured := job.Phase == record.PhaseMeasure
	if measured {
		s.point.counts.Scheduled++
	}
	s.prompt = grown(s.prompt, job.PromptTokens)
	s.output = grown(s.output, job.OutputTokens)
	if s.readsPrompts {
		readWords(s.prompt, job.Prompt)
	}
	request := virtual.Request{
		ID: job.ID, Arrival: job.at, Measured: measured,
		Request: sched.Request{
			Prompt: s.prompt, Output: s.output, MaxTokens: job.OutputTokens,
			ArrivalNS: job.at,
		},
	}
	if s.point.config.Leave.Chooses(job.ID) {
		request.LeaveAfter = s.point.config.Leave.AfterTokens
		request.LeaveDelay = s.point.config.Delays.ofLeaving(job.ID)
	}
	return request
}

// Done implements virtual.Source.
func (s *source) Done(id, at int64) {
	rec := record.New()
	rec.ID, rec.Outcome = id, record.OK
	s.from.Done(rec, time.Duration(at))
}

// grown returns a slice of n tokens, which may be s.
func grown(s []uint32, n int) []uint32 {
	if cap(s) < n {
		s = make([]uint32, n)
	}
	return s[:n]
}

// readWords makes each word of a prompt a token. Equal words are equal tokens,
// which is all that a prefix cache looks at (FNV-1a).
func readWords(prompt []uint32, text []byte) {
	for i := range prompt {
		word, rest, _ := bytes.Cut(text, []byte(" "))
		h := fnv.New32a()
		_, _ = h.Write(word) // it never fails
		prompt[i], text = h.Sum32(), rest
	}
}
