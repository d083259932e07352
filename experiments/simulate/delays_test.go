package simulate

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"llmsim-bench/bench"
	"llmsim-bench/bench/load"
	"llmsim-bench/bench/workload"
	"llmsim-bench/simserver"
	"llmsim-bench/simserver/config"
	"llmsim-bench/simserver/virtual"
)

func TestDistribution(t *testing.T) {
	d := NewDistribution([]int64{1, 2, 3, 4, 100}, 4)
	if !reflect.DeepEqual(d, Distribution{1, 2, 3, 4, 100}) {
		t.Fatal(d)
	}
	for q, want := range map[float64]int64{0: 1, 0.25: 2, 0.375: 3, 0.875: 52, 1: 100} {
		if got := d.At(q); got != want {
			t.Errorf("quantile %v is %d, want %d", q, got, want)
		}
	}
	if Distribution(nil).At(0.5) != 0 || len(NewDistribution(nil, 4)) != 0 {
		t.Error("no values have a quantile")
	}
	text, err := json.Marshal(d)
	if err != nil || string(text) != `"1 2 3 4 100"` {
		t.Errorf("%s, %v", text, err)
	}
	var read Distribution
	if err := json.Unmarshal(text, &read); err != nil || !reflect.DeepEqual(read, d) {
		t.Errorf("%v, %v", read, err)
	}
	for bad, says := range map[string]string{`"1 x"`: `"x" is no number`, `"5 4"`: "must be 5 or more", `"-1"`: "must be 0 or more"} {
		if err := json.Unmarshal([]byte(bad), &read); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want …%s", bad, err, says)
		}
	}
}

// Draws are spread as the quantiles say, the same for the same seed, and others
// for another.
func TestDraws(t *testing.T) {
	d := Distribution{0, 10, 1000}
	var low, same int
	for id := range int64(10_000) {
		v := d.draw(7, id)
		if v < 0 || v > 1000 || v != d.draw(7, id) {
			t.Fatalf("request %d draws %d, then %d", id, v, d.draw(7, id))
		}
		if v <= 10 {
			low++
		}
		if v == d.draw(8, id) {
			same++
		}
	}
	if low < 4800 || low > 5200 || same > 1500 {
		t.Errorf("of 10,000 draws %d are below the median, %d the same with another seed", low, same)
	}
	scaled := Delays{Turnaround: d, Arrival: d, Leaving: d}.Scaled(2.5)
	if want := (Distribution{0, 25, 2500}); !reflect.DeepEqual(scaled.Turnaround, want) || !reflect.DeepEqual(scaled.Arrival, want) || !reflect.DeepEqual(scaled.Leaving, want) {
		t.Errorf("%+v", scaled)
	}
}

// watched notes when requests arrive.
type watched struct {
	from virtual.Source
	at   []int64
	ids  []int64
}

func (w *watched) pull(until int) {
	for len(w.at) < until {
		at, ok := w.from.Peek()
		if !ok {
			return
		}
		r := w.from.Pop()
		if r.Arrival != at {
			panic("Pop is not what Peek promised")
		}
		w.at, w.ids = append(w.at, at), append(w.ids, r.ID)
	}
}

// Whatever the delays, requests come in the order of their arrival, each as late
// as it was drawn, and none is lost.
func TestDelayedRequestsComeInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		greatest := rapid.Int64Range(0, 2e9).Draw(t, "greatest delay, ns")
		c := Config{
			Workload: bench.Workload{
				Loads: []bench.Load{bench.AtRate(rapid.Float64Range(1, 200).Draw(t, "rate"))}, Duration: time.Second,
				Shape: workload.Shape{Prompt: workload.Fixed(4), Output: workload.Fixed(2)}, Seed: rapid.Uint64().Draw(t, "seed"),
			},
			Delays: Delays{Arrival: Distribution{0, greatest}, Seed: 3},
		}
		times := func(d Delays) *watched {
			c.Delays = d
			p := &point{config: &c, timeline: emptyTimeline(t)}
			s, err := newSource(p)
			if err != nil {
				t.Fatal(err)
			}
			w := &watched{from: s}
			w.pull(1 << 30)
			return w
		}
		delays := c.Delays
		due, late := times(Delays{}), times(delays)
		if !slices.IsSorted(late.at) || len(late.at) != len(due.at) {
			t.Fatalf("%d of %d arrivals: %v", len(late.at), len(due.at), late.at)
		}
		for i, id := range late.ids {
			if want := due.at[id] + delays.of(id, false); late.at[i] != want {
				t.Fatalf("request %d comes at %d, want %d", id, late.at[i], want)
			}
		}
	})
}

// A user of a closed loop who is delayed sends the next request that much later,
// and never two at once.
func TestTurnaround(t *testing.T) {
	run := func(d Delays) float64 {
		r, err := Run(Config{Model: baseModel(t), Delays: d, Workload: bench.Workload{
			Loads: []bench.Load{bench.Users(1)}, Duration: 20 * time.Second, Shape: workload.Shape{Prompt: workload.Fixed(16), Output: workload.Fixed(10)}, Seed: 1,
		}})
		if err != nil {
			t.Fatal(err)
		}
		if batch := r.Points[0].Steps.BatchSize.Max; batch != 1 {
			t.Errorf("a batch of %v by one user", batch)
		}
		return r.Points[0].AchievedRPS
	}
	// 10 steps of 4.5 ms, and 45 ms of turnaround.
	if quick, slow := run(Delays{}), run(Delays{Turnaround: Distribution{45e6}}); quick/slow < 1.95 || quick/slow > 2.05 {
		t.Errorf("%v requests a second without a delay, %v with", quick, slow)
	}
}

func TestLeavingFreesTheQueue(t *testing.T) {
	run := func(l load.Leave) (completed, left int64, queue float64) {
		m := baseModel(t)
		places := 2
		m.Scheduler.Options.MaxNumSequences = &places
		r, err := Run(Config{Model: m, Leave: l, Workload: bench.Workload{
			Loads: []bench.Load{bench.Users(8)}, Duration: 5 * time.Second, Shape: workload.Shape{Prompt: workload.Fixed(16), Output: workload.Fixed(100)}, Seed: 1,
		}})
		if err != nil {
			t.Fatal(err)
		}
		p := r.Points[0]
		if err := p.Accounting.Check(); err != nil {
			t.Error(err)
		}
		if n := p.ServerRequests.Aborted[virtual.AbortedByClient]; n != p.Accounting.Cancelled {
			t.Errorf("the server counts %d clients that left, the client %d", n, p.Accounting.Cancelled)
		}
		return p.Accounting.OK, p.Accounting.Cancelled, p.Metrics["queue"].Simulated.Mean
	}
	stay, none, long := run(load.Leave{})
	some, left, short := run(load.Leave{Fraction: 0.5, AfterTokens: 10})
	if none != 0 || left < some/2 || stay == 0 || short > long*0.7 {
		t.Errorf("all stay: %d end, %d leave, %v ms of queueing; half leave: %d, %d, %v", stay, none, long, some, left, short)
	}
}

func TestAbortedTokens(t *testing.T) {
	var c comparison
	for _, tokens := range []int{5, 2, 9} {
		c.countAborted(tokens)
	}
	if c.result.Aborted != 3 || c.result.AbortedTokens != [2]int{2, 9} {
		t.Errorf("%+v", c.result)
	}
}

func TestWhatCantBeSimulated(t *testing.T) {
	w := bench.Workload{Loads: []bench.Load{bench.Users(1)}, Duration: time.Second, Shape: workload.Shape{Prompt: workload.Fixed(16), Output: workload.Fixed(2)}}
	for says, c := range map[string]Config{
		"leave after a time":       {Leave: load.Leave{Fraction: 1, After: time.Second}},
		"fraction of 2":            {Leave: load.Leave{Fraction: 2}},
		"arrival delays: quantile": {Delays: Delays{Arrival: Distribution{5, 1}}},
	} {
		c.Workload, c.Model = w, baseModel(t)
		if _, err := Run(c); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("error %v, want …%s…", err, says)
		}
	}
}

// emptyTimeline is the built-in model's.
func emptyTimeline(t *rapid.T) *simserver.Timeline {
	for _, m := range config.Default().Models {
		if m.Engine == config.EngineScheduler {
			timeline, err := simserver.NewTimeline(m)
			if err != nil {
				t.Fatal(err)
			}
			return timeline
		}
	}
	t.Fatal("no scheduler model is built in")
	return nil
}
