package simserver_test

import (
	"strings"
	"testing"
	"time"

	"llmsim-bench/simserver"
)

// A timeline that runs a thousand times as fast is the same timeline: a first
// token 100 s after its arrival is written after 100 ms.
func TestTimeScale(t *testing.T) {
	l := startLive(t, `
time_scale: 1000
models:
  - name: m
    context_length: 4096
    tokenizer: regex
    engine: fixed_rate
    latency: {overhead_ms: 100000, prefill_tokens_per_second: 1000000, itl_ms: 1000}
`, simserver.Options{})
	const tokens = 11
	got := startStream(t, l.Simulator, "m", "one", tokens).end(t, tokens)
	const first, last = 100*time.Second + time.Microsecond, 110*time.Second + time.Microsecond
	if s := got.timing.Simulated; s.FirstNS != int64(first) || s.LastNS != int64(last) {
		t.Errorf("simulated %+v, want first token after %v, last after %v", s, first, last)
	}
	// The server's moments are wall time: never early, and a lateness of a hundred
	// times the answer's length would be a defect.
	if s := got.timing.Server; s.FirstNS < int64(first)/1000 || s.LastNS < int64(last)/1000 || s.LastNS >= int64(last)/10 {
		t.Errorf("server %+v, want at least %v and %v", s, first/1000, last/1000)
	}
	sum := summary(t, l.Simulator, "")
	m := sum.Models["m"].Metrics
	if sum.TimeScale != 1000 || m["ttft"].Simulated.P50 != first.Seconds()*1e3 || m["itl"].Simulated.P50 != 1000 {
		t.Errorf("time scale %v, simulated ttft %+v, itl %+v", sum.TimeScale, m["ttft"].Simulated, m["itl"].Simulated)
	}
	if s := m["e2e"].Server; s.P50 < 109 || s.P50 >= 11_000 {
		t.Errorf("server e2e %v ms, want about 110 or more", s.P50)
	}
}

// Live = virtual at any speed.
func TestScaledRunsAreReplayed(t *testing.T) {
	for _, scale := range []string{"0.5", "4"} {
		l := startLive(t, "time_scale: "+scale+"\n"+article, simserver.Options{})
		const requests, tokens = 20, 30
		var streams []*stream
		for range requests {
			streams = append(streams, startStream(t, l.Simulator, "m", strings.Repeat("word ", 200), tokens))
		}
		for _, s := range streams {
			s.end(t, tokens)
		}
		queue := summary(t, l.Simulator, "").Models["m"].Metrics["queue"]
		if queue.Server == nil || queue.Simulated == nil || queue.Server.Count != requests || queue.Simulated.Count != requests {
			t.Errorf("×%s: queue times %+v and %+v, want both of %d requests", scale, queue.Server, queue.Simulated, requests)
		}
		if all := l.replay(t); len(all) != 1 || all[0].Requests != requests {
			t.Errorf("×%s: %+v", scale, all)
		}
	}
}
