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

// Count counts what became of one request. An outcome that is none breaks the
// identity, which is how it is found.
func (a *Accounting) Count(rec *Request) {
	switch rec.Outcome {
	case OK:
		a.OK++
	case Cancelled:
		a.Cancelled++
	case Dropped:
		a.Dropped++
	case Failed:
		a.Failed++
		if a.FailedByKind == nil {
			a.FailedByKind = make(map[string]int64)
		}
		a.FailedByKind[rec.Kind]++
	}
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
		if a.FailedByKind == nil {
			a.FailedByKind = make(map[string]int64)
		}
		a.FailedByKind[kind] += n
	}
}

// Clone returns a copy that shares nothing with a.
func (a Accounting) Clone() Accounting {
	a.FailedByKind = maps.Clone(a.FailedByKind)
	return a
}
