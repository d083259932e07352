package simulate

import (
	"time"

	"llmsim-bench/bench/load"
	"llmsim-bench/bench/record"
	"llmsim-bench/simserver/sched"
	"llmsim-bench/simserver/virtual"
)

// source hands a load generator's requests to a virtual engine.
type source struct {
	point *point
	from  load.Source
	next  load.Job
	ready bool

	distinct bool // the engine looks at the tokens, not only at their number
	prompt   []uint32
	output   []uint32
}

func newSource(p *point) (*source, error) {
	s := &source{
		point: p, distinct: p.timeline.Config.EnablePrefixCaching,
		prompt: make([]uint32, p.config.PromptTokens), output: make([]uint32, p.config.OutputTokens),
	}
	var err error
	s.from, err = p.config.Source(p.index, lengths{p.config.PromptTokens, p.config.OutputTokens}, p.nextID)
	return s, err
}

// lengths is a load.Workload without texts: a virtual engine reads none.
type lengths struct{ promptTokens, outputTokens int }

func (lengths) AppendPrompt(dst []byte, _ int64) []byte { return dst }
func (l lengths) PromptTokens(int64) int                { return l.promptTokens }
func (l lengths) OutputTokens(int64) int                { return l.outputTokens }

// Peek implements virtual.Source.
func (s *source) Peek() (int64, bool) {
	if !s.ready {
		job, state := s.from.Next()
		s.next, s.ready = job, state == load.Ready
	}
	return int64(s.next.Due), s.ready
}

// Pop implements virtual.Source.
func (s *source) Pop() virtual.Request {
	s.ready = false
	id := s.next.ID
	s.point.nextID = max(s.point.nextID, id+1)
	measured := s.next.Phase == record.PhaseMeasure
	if measured {
		s.point.counts.Scheduled++
	}
	if s.distinct {
		fillDistinct(s.prompt, uint64(id))
	}
	return virtual.Request{
		ID: id, Arrival: int64(s.next.Due), Measured: measured,
		Request: sched.Request{
			Prompt: s.prompt, Output: s.output[:s.next.OutputTokens], MaxTokens: s.next.OutputTokens,
			ArrivalNS: int64(s.next.Due),
		},
	}
}

// Done implements virtual.Source.
func (s *source) Done(id, at int64) {
	rec := record.New()
	rec.ID, rec.Outcome = id, record.OK
	s.from.Done(rec, time.Duration(at))
}

// fillDistinct makes prompts of which no two share a block, as the load
// generator's random words don't: a different number at every place (splitmix64).
func fillDistinct(prompt []uint32, id uint64) {
	state := id * 0x9e3779b97f4a7c15
	for i := range prompt {
		state += 0x9e3779b97f4a7c15
		z := state
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		prompt[i] = uint32((z ^ z>>31) >> 32)
	}
}
