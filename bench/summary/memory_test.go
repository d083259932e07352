package summary_test

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"llmsim-bench/bench/record"
	"llmsim-bench/bench/summary"
)

// Once there are more values than are kept one by one, more of them take no more.
func TestMemoryDoesNotGrowWithTheRecords(t *testing.T) {
	c := summary.NewCollector(summary.Window{End: second(1e6)}, nil)
	rng := rand.New(rand.NewPCG(1, 2))
	r := request(0)
	add := func(n int) int64 {
		for range n {
			at := record.Instant(0)
			for _, instant := range []*record.Instant{&r.Sched, &r.Dispatch, &r.Slot, &r.Conn, &r.Sent, &r.Header, &r.First, &r.Out, &r.Last, &r.End} {
				*instant = at
				at += record.Instant(1 + rng.Int64N(1e9))
			}
			c.Add(r)
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	const before, more = 66_000, 30_000
	first := add(before)
	if grown := add(more) - first; grown > more*8 {
		t.Errorf("%d more records hold %d bytes more", more, grown)
	}
	p, err := c.Point(summary.Conditions{})
	if err != nil {
		t.Fatal(err)
	}
	if ttft := p.Metrics["ttft"].Client; ttft.Count != before+more {
		t.Errorf("%d values of ttft", ttft.Count)
	}
}
