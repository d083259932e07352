package engine

import (
	"testing"

	"llmsim-bench/simserver/plan"
)

// lateClock is past every due time, so that a pacer never sleeps.
type lateClock struct{}

func (lateClock) Now() int64 { return never - 1 }

// noSleep is the sleeper of a pacer that has nothing to do but wait.
type noSleep struct{ wake chan struct{} }

func (s noSleep) Until(int64) { <-s.wake }
func (s noSleep) Wake() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// idleOutlet costs nothing.
type idleOutlet struct{ done chan error }

func (idleOutlet) Prepare(plan.TokenEvent)    {}
func (idleOutlet) Release() (int64, Delivery) { return 0, Sent }
func (idleOutlet) Flush() error               { return nil }
func (o idleOutlet) Done(err error)           { o.done <- err }

// BenchmarkFixedRate is the engine's own cost of a token: 64 streams through the
// pacer, without rendering and writing. It allocates per request, not per token.
func BenchmarkFixedRate(b *testing.B) {
	const streams = 64
	e, err := NewFixedRate(simFixed, lateClock{}, noSleep{make(chan struct{}, 1)})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	out := idleOutlet{make(chan error, streams)}
	requests := make([]Request, streams)
	for i := range requests {
		requests[i] = Request{Plan: planOf(512, b.N/streams+1), Outlet: out}
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := range requests {
		e.Submit(&requests[i])
	}
	for range requests {
		if err := <-out.done; err != nil {
			b.Fatal(err)
		}
	}
}
