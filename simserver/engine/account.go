package engine

import (
	"slices"
	"time"

	"llmsim-bench/internal/hist"
	"llmsim-bench/internal/wire"
	"llmsim-bench/simserver/sched"
)

// StepAccount sums up a scheduler's steps. It is not safe for concurrent use.
type StepAccount struct {
	steps       int64
	duration    *hist.Exact
	tokens      *hist.Exact
	kvUse       *hist.Exact // in used blocks
	batch       []int64     // steps by batch size
	blocks      int
	preemptions int64
	// The scheduler's counts at the last step, and when the account began.
	prefix, prefixBase sched.PrefixLookups

	began    int64
	interval int64
	series   []interval
}

// interval sums what a wire.Sample shows the means of.
type interval struct {
	steps, batch, waiting, used, busy int64
	admitted, queued, preemptions     int64
}

// NewStepAccount returns an empty account for a cache of so many blocks. Its
// series begins at a moment of the timeline and has a sample for each interval;
// 0: no series.
func NewStepAccount(blocks int, began int64, every time.Duration) *StepAccount {
	return &StepAccount{
		duration: hist.NewExact(), tokens: hist.NewExact(), kvUse: hist.NewExact(),
		blocks: blocks, began: began, interval: int64(every),
	}
}

// Step counts one step after Schedule, before Complete. Steps without sequences
// run nothing and don't count.
func (a *StepAccount) Step(step *sched.Step, t StepTime, s *sched.Scheduler) {
	n := len(step.Seqs)
	a.prefix = s.PrefixStats().New
	a.preemptions += int64(len(step.Preempted))
	if n == 0 {
		return
	}
	used := int64(a.blocks - s.FreeBlocks())
	duration := t.End - t.Start
	a.steps++
	a.duration.Record(duration, 1)
	a.tokens.Record(int64(step.Tokens), 1)
	a.kvUse.Record(used, 1)
	if n >= len(a.batch) {
		a.batch = append(a.batch, make([]int64, n+1-len(a.batch))...)
	}
	a.batch[n]++
	if i := a.at(t.Scheduled); i != nil {
		i.steps++
		i.batch += int64(n)
		i.waiting += int64(s.NumWaiting())
		i.used += used
		i.busy += duration
		i.preemptions += int64(len(step.Preempted))
	}
}

// Admitted counts a request's first admission after it queued for so long.
func (a *StepAccount) Admitted(at, queued int64) {
	if i := a.at(at); i != nil {
		i.admitted++
		i.queued += queued
	}
}

// at returns the interval of a moment, nil without a series.
func (a *StepAccount) at(moment int64) *interval {
	if a.interval <= 0 || moment < a.began {
		return nil
	}
	n := int((moment - a.began) / a.interval)
	if n >= len(a.series) {
		a.series = slices.Grow(a.series, n+1-len(a.series))[:n+1]
	}
	return &a.series[n]
}

// clone returns a copy that shares nothing with a.
func (a *StepAccount) clone() *StepAccount {
	c := *a
	c.duration, c.tokens, c.kvUse = a.duration.Clone(), a.tokens.Clone(), a.kvUse.Clone()
	c.batch, c.series = slices.Clone(a.batch), slices.Clone(a.series)
	return &c
}

// merge adds the steps of another engine of the same build, but for the series.
func (a *StepAccount) merge(other *StepAccount) {
	a.steps += other.steps
	a.duration.Merge(other.duration)
	a.tokens.Merge(other.tokens)
	a.kvUse.Merge(other.kvUse)
	a.batch = append(a.batch, make([]int64, max(0, len(other.batch)-len(a.batch)))...)
	for size, n := range other.batch {
		a.batch[size] += n
	}
	a.preemptions += other.preemptions
	a.prefix.Requests += other.prefix.Requests - other.prefixBase.Requests
	a.prefix.Queries += other.prefix.Queries - other.prefixBase.Queries
	a.prefix.Hits += other.prefix.Hits - other.prefixBase.Hits
}

// Next returns an empty account that goes on where this one ends.
func (a *StepAccount) Next() *StepAccount {
	next := NewStepAccount(a.blocks, 0, 0)
	next.prefix, next.prefixBase = a.prefix, a.prefix
	return next
}

// Summary returns what was counted.
func (a *StepAccount) Summary() *wire.Steps {
	batch := hist.NewExact()
	for size, n := range a.batch {
		if n > 0 {
			batch.Record(int64(size), n)
		}
	}
	s := &wire.Steps{
		Count: a.steps, Duration: a.duration.Stats(),
		BatchSize: batch.StatsIn(1), Tokens: a.tokens.StatsIn(1), KVUse: a.kvUse.StatsIn(float64(a.blocks)),
		Preemptions: a.preemptions,
		PrefixCache: wire.PrefixCache{
			Requests: a.prefix.Requests - a.prefixBase.Requests,
			Queries:  a.prefix.Queries - a.prefixBase.Queries,
			Hits:     a.prefix.Hits - a.prefixBase.Hits,
		},
	}
	for n, i := range a.series {
		mean := func(sum, of int64) float64 { return float64(sum) / float64(max(of, 1)) }
		s.Series = append(s.Series, wire.Sample{
			FromS: (time.Duration(n) * time.Duration(a.interval)).Seconds(),
			Steps: i.steps, BusyMS: float64(i.busy) / 1e6,
			BatchSize: mean(i.batch, i.steps), Waiting: mean(i.waiting, i.steps),
			KVUse:   mean(i.used, i.steps) / float64(a.blocks),
			QueueMS: mean(i.queued, i.admitted) / 1e6, Admitted: i.admitted, Preemptions: i.preemptions,
		})
	}
	return s
}
