package record

import (
	"fmt"
	"maps"
)

// Accounting says what became of every request that came due.
type Accounting struct {
	Scheduled  int64 `json:"scheduled"`  // came due
	Dispatched int64 `json:"dispatched"` // of these, had their goroutine run
	OK         int64 `json:"ok"`
	Failed     int64 `json:"failed"`
	Cancelled  int64 `json:"cancelled"`
	Dropped    int64 `json:"dropped"` // never sent
	Running    int64 `json:"running"` // not ended
	// FailedByKind divides Failed by Request.Kind.
	FailedByKind map[string]int64 `json:"failed_by_kind,omitempty"`
	// CancelledByKind divides Cancelled by Request.Kind, where it has one.
	CancelledByKind map[string]int64 `json:"cancelled_by_kind,omitempty"`
	// RetriedByKind counts the attempts that failed and were made again, by the
	// kind of failure. They are no requests of their own.
	RetriedByKind map[string]int64 `json:"retried_by_kind,omitempty"`
}

// Check verifies the accounting identity, scheduled = ok + failed + cancelled +
// dropped + running, and that the kinds of failure add up to the failures.
func (a Accounting) Check() error {
	if sum := a.OK + a.Failed + a.Cancelled + a.Dropped + a.Running; sum != a.Scheduled {
		return fmt.Errorf("%d scheduled, but %d ok + %d failed + %d cancelled + %d dropped + %d running = %d",
			a.Scheduled, a.OK, a.Failed, a.Cancelled, a.Dropped, a.Running, sum)
	}
	var kinds int64
	for _, n := range a.FailedByKind {
		kinds += n
	}
	if kinds != a.Failed {
		return fmt.Errorf("%d failed, but the kinds of failure add up to %d: %v", a.Failed, kinds, a.FailedByKind)
	}
	return nil
}

// CutOff returns how many requests had no chance to end: they were never sent, were
// cancelled by the end of the run and not by a client that was to leave, or run
// still.
func (a Accounting) CutOff() int64 {
	cut := a.Dropped + a.Cancelled + a.Running
	for _, n := range a.CancelledByKind {
		cut -= n
	}
	return cut
}

// Count counts what became of one request. An outcome that is none breaks the
// identity, which is how it is found.
func (a *Accounting) Count(rec *Request) {
	switch rec.Outcome {
	case OK:
		a.OK++
	case Cancelled:
		a.Cancelled++
		if rec.Kind != "" {
			add(&a.CancelledByKind, rec.Kind, 1)
		}
	case Dropped:
		a.Dropped++
	case Failed:
		a.Failed++
		add(&a.FailedByKind, rec.Kind, 1)
	}
	for _, kind := range rec.Retried {
		add(&a.RetriedByKind, kind, 1)
	}
}

func add(counts *map[string]int64, kind string, n int64) {
	if *counts == nil {
		*counts = make(map[string]int64)
	}
	(*counts)[kind] += n
}

// Add adds the counts of o.
func (a *Accounting) Add(o Accounting) {
	a.Scheduled += o.Scheduled
	a.Dispatched += o.Dispatched
	a.OK += o.OK
	a.Failed += o.Failed
	a.Cancelled += o.Cancelled
	a.Dropped += o.Dropped
	a.Running += o.Running
	for kind, n := range o.FailedByKind {
		add(&a.FailedByKind, kind, n)
	}
	for kind, n := range o.CancelledByKind {
		add(&a.CancelledByKind, kind, n)
	}
	for kind, n := range o.RetriedByKind {
		add(&a.RetriedByKind, kind, n)
	}
}

// Clone returns a copy that shares nothing with a.
func (a Accounting) Clone() Accounting {
	a.FailedByKind = maps.Clone(a.FailedByKind)
	a.CancelledByKind = maps.Clone(a.CancelledByKind)
	a.RetriedByKind = maps.Clone(a.RetriedByKind)
	return a
}
