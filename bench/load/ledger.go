package load

import (
	"sync"
	"time"

	"llmsim-bench/bench/record"
)

// ending is a request that ended, with the time since the start of the run.
type ending struct {
	rec *record.Request
	at  time.Duration
}

// ledger is where the goroutines of requests, the dispatcher and the goroutine
// that delivers records meet. Nobody ever blocks on it: what has ended queues up
// without bound until it is taken, so that a slow taker delays no request.
type ledger struct {
	mu      sync.Mutex
	phases  map[string]*record.Accounting
	endings []ending          // not yet taken by the dispatcher
	records []*record.Request // not yet delivered
	closed  bool
	// delivery is signalled when records are there or the ledger is closed.
	delivery chan struct{}
}

func newLedger() *ledger {
	return &ledger{phases: make(map[string]*record.Accounting), delivery: make(chan struct{}, 1)}
}

func (l *ledger) phase(name string) *record.Accounting {
	a := l.phases[name]
	if a == nil {
		a = &record.Accounting{}
		l.phases[name] = a
	}
	return a
}

// due counts a request that came due.
func (l *ledger) due(phase string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.phase(phase)
	a.Scheduled++
	a.Running++
}

// dispatched counts a request whose goroutine runs.
func (l *ledger) dispatched(phase string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.phase(phase).Dispatched++
	}
}

// end books the end of a request. After close it does nothing: that request was
// reported as running.
func (l *ledger) end(rec *record.Request, at time.Duration) {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return
	}
	a := l.phase(rec.Phase)
	a.Running--
	a.Count(rec)
	l.endings = append(l.endings, ending{rec, at})
	l.records = append(l.records, rec)
	l.mu.Unlock()
	l.signal()
}

// close ends the booking.
func (l *ledger) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.signal()
}

func (l *ledger) signal() {
	select {
	case l.delivery <- struct{}{}:
	default: // one is pending already
	}
}

// running returns how many requests came due and have not ended.
func (l *ledger) running() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	var n int64
	for _, a := range l.phases {
		n += a.Running
	}
	return n
}

// takeEndings returns the endings since the last call.
func (l *ledger) takeEndings() []ending {
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := l.endings
	l.endings = nil
	return taken
}

// deliver hands every record to deliverTo, in the order of their ends, until the
// ledger is closed.
func (l *ledger) deliver(deliverTo func(*record.Request)) {
	for range l.delivery {
		l.mu.Lock()
		taken, closed := l.records, l.closed
		l.records = nil
		l.mu.Unlock()
		for _, rec := range taken {
			deliverTo(rec)
		}
		if closed {
			return
		}
	}
}

// snapshot returns the accounting by phase.
func (l *ledger) snapshot() map[string]record.Accounting {
	l.mu.Lock()
	defer l.mu.Unlock()
	phases := make(map[string]record.Accounting, len(l.phases))
	for name, a := range l.phases {
		phases[name] = a.Clone()
	}
	return phases
}
