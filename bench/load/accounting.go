package load

import (
	"fmt"
	"maps"

	"llmsim-bench/bench/record"
)

// Accounting says what became of the requests that came due.
type Accounting struct {
	Scheduled  int64 // came due
	Dispatched int64 // of these, had their goroutine run
	OK         int64
	Failed     int64
	Cancelled  int64
	Dropped    int64 // never sent
	Running    int64 // not ended
	// FailedByKind divides Failed by record.Request.Kind.
	FailedByKind map[string]int64
}

// Check verifies the accounting identity, scheduled = ok + failed + cancelled +
// dropped + running, and that the kinds of failure add up to the failures.
func (a Accounting) Check() error {
	if sum := a.OK + a.Failed + a.Cancelled + a.Dropped + a.Running; sum != a.Scheduled {
		return fmt.Errorf("load: the accounting does not add up: %d requests were scheduled, but %d ok + %d failed + %d cancelled + %d dropped + %d running = %d",
			a.Scheduled, a.OK, a.Failed, a.Cancelled, a.Dropped, a.Running, sum)
	}
	var kinds int64
	for _, n := range a.FailedByKind {
		kinds += n
	}
	if kinds != a.Failed {
		return fmt.Errorf("load: the accounting does not add up: %d requests failed, but %d by kind: %v", a.Failed, kinds, a.FailedByKind)
	}
	return nil
}

// ended counts what became of one request. An outcome that is none breaks the
// identity, which is how it is found.
func (a *Accounting) ended(rec *record.Request) {
	switch rec.Outcome {
	case record.OK:
		a.OK++
	case record.Cancelled:
		a.Cancelled++
	case record.Dropped:
		a.Dropped++
	case record.Failed:
		a.Failed++
		if a.FailedByKind == nil {
			a.FailedByKind = make(map[string]int64)
		}
		a.FailedByKind[rec.Kind]++
	}
}

// add adds the counts of o.
func (a *Accounting) add(o Accounting) {
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

// clone returns a copy that shares nothing with a.
func (a Accounting) clone() Accounting {
	a.FailedByKind = maps.Clone(a.FailedByKind)
	return a
}
