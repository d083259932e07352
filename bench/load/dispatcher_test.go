package load

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"llmsim-bench/bench/arrival"
	"llmsim-bench/bench/record"
	"llmsim-bench/internal/sleep"
)

// fixed is a schedule of given due times.
type fixed struct{ due []time.Duration }

func (f *fixed) Next() (time.Duration, bool) {
	if len(f.due) == 0 {
		return 0, false
	}
	due := f.due[0]
	f.due = f.due[1:]
	return due, true
}

// every is a schedule of n due times, gap apart, from 0 on.
func every(gap time.Duration, n int) *fixed {
	f := &fixed{}
	for i := range n {
		f.due = append(f.due, time.Duration(i)*gap)
	}
	return f
}

// asks is a workload whose prompt i is the letter i.
type asks struct{}

func (asks) AppendPrompt(dst []byte, i int64) []byte { return append(dst, byte('a'+i%26)) }
func (asks) PromptTokens(i int64) int                { return int(i) + 100 }
func (asks) OutputTokens(int64) int                  { return 7 }

func open(f *fixed, length time.Duration) *Open {
	return NewOpen(f, Window{Measure: length}, asks{}, 0)
}

// bench is one run of a Dispatcher in fake time.
type bench struct {
	clock   sleep.Clock
	records []*record.Request
	result  Result
	err     error
}

// run runs o, completed with what a run in fake time needs, inside a synctest bubble.
func run(ctx context.Context, o Options) *bench {
	b := &bench{clock: sleep.NewClock()}
	o.Clock, o.Sleeper = b.clock, sleep.NewPortable(b.clock)
	if o.Do == nil {
		o.Do = serve(b.clock, 0)
	}
	deliver := o.OnRecord
	o.OnRecord = func(rec *record.Request) {
		b.records = append(b.records, rec)
		if deliver != nil {
			deliver(rec)
		}
	}
	d, err := New(o)
	if err != nil {
		b.err = err
		return b
	}
	b.result, b.err = d.Run(ctx)
	return b
}

// serve is a server that answers after a while, whatever its load.
func serve(clock Clock, takes time.Duration) func(context.Context, *Job, *record.Request) {
	return func(ctx context.Context, _ *Job, rec *record.Request) {
		rec.Sent = record.Instant(clock.Now())
		select {
		case <-time.After(takes):
			rec.Outcome = record.OK
			rec.Last = record.Instant(clock.Now())
		case <-ctx.Done():
			rec.Outcome = record.Cancelled
		}
		rec.End = record.Instant(clock.Now())
	}
}

func mean(records []*record.Request, from func(*record.Request) record.Instant) time.Duration {
	var sum record.Instant
	for _, r := range records {
		sum += r.Last - from(r)
	}
	return time.Duration(int(sum) / len(records))
}

func TestLatencyCountsFromTheScheduleUnderACap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := sleep.NewClock()
		b := run(t.Context(), Options{
			Source: open(every(100*time.Millisecond, 8), time.Second), MaxInFlight: 1,
			Do: serve(clock, 500*time.Millisecond), DrainTimeout: time.Minute,
		})
		if b.err != nil || len(b.records) != 8 {
			t.Fatalf("%d records, error %v", len(b.records), b.err)
		}
		sched := mean(b.records, func(r *record.Request) record.Instant { return r.Sched })
		sent := mean(b.records, func(r *record.Request) record.Instant { return r.Sent })
		if sched != 1900*time.Millisecond || sent != 500*time.Millisecond {
			t.Errorf("mean latency %v from the schedule and %v from the send, want 1.9s and 500ms", sched, sent)
		}
		for i, r := range b.records {
			if r.ID != int64(i) || r.Dispatch != r.Sched {
				t.Errorf("record %d is of request %d, scheduled at %d and dispatched at %d", i, r.ID, r.Sched, r.Dispatch)
			}
			if want := b.result.Start + record.Instant(i)*record.Instant(500*time.Millisecond); r.Slot != want {
				t.Errorf("request %d got its slot at %d, want %d", i, r.Slot, want)
			}
		}
	})
}

func TestRequestsGoOutOnTimeWhateverEarlierOnesDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := sleep.NewClock()
		schedule, err := arrival.Poisson(50, 10*time.Second, 1)
		if err != nil {
			t.Fatal(err)
		}
		prepared := make(map[int64]time.Duration)
		b := run(t.Context(), Options{
			Source: NewOpen(schedule, Window{Warmup: 4 * time.Second, Measure: 6 * time.Second}, asks{}, 100),
			Do:     serve(clock, 3*time.Second), DrainTimeout: time.Minute,
			Prepare: func(job *Job) {
				prepared[job.ID] = time.Duration(clock.Now())
				job.Request = append(job.Request, job.Prompt...)
			},
			OnRecord: func(*record.Request) { time.Sleep(time.Second) }, // a slow taker delays no request
		})
		if b.err != nil {
			t.Fatal(b.err)
		}
		again, _ := arrival.Poisson(50, 10*time.Second, 1)
		for i := int64(100); ; i++ {
			due, ok := again.Next()
			if !ok {
				break
			}
			r := b.records[i-100]
			sched := b.result.Start + record.Instant(due)
			if r.ID != i || r.Sched != sched || r.Dispatch != sched || r.Slot != sched {
				t.Fatalf("request %d: %+v, want it dispatched at %d", i, r, sched)
			}
			phase := record.PhaseMeasure
			if due < 4*time.Second {
				phase = record.PhaseWarmup
			}
			if r.Phase != phase {
				t.Fatalf("request due at %v is in phase %s, want %s", due, r.Phase, phase)
			}
			if i > 100 && prepared[i] != time.Duration(b.records[i-101].Sched) {
				t.Fatalf("request %d was prepared at %v, want right after the one before it was sent", i, prepared[i])
			}
		}
		total := b.result.Total()
		if total.Scheduled != int64(len(b.records)) || total.OK != total.Scheduled || total.Dispatched != total.Scheduled {
			t.Errorf("%d records and %+v", len(b.records), total)
		}
		if w, m := b.result.Phases[record.PhaseWarmup], b.result.Phases[record.PhaseMeasure]; w.OK == 0 || m.OK == 0 || w.OK+m.OK != total.OK {
			t.Errorf("%d ok in warm-up and %d measured, of %d", w.OK, m.OK, total.OK)
		}
	})
}

func TestJobsCarryWhatIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		b := run(t.Context(), Options{
			Point: 4, Source: NewOpen(every(time.Second, 3), Window{Measure: time.Minute}, asks{}, 2),
			Do: func(_ context.Context, job *Job, rec *record.Request) {
				asked = append(asked, string(job.Prompt)+string(job.Request))
				if job.OutputTokens != 7 {
					t.Errorf("request %d asks for %d tokens, want 7", job.ID, job.OutputTokens)
				}
				rec.Outcome = record.OK
			},
			Prepare: func(job *Job) { job.Request = []byte("!") },
		})
		if want := []string{"c!", "d!", "e!"}; !slices.Equal(asked, want) {
			t.Errorf("asked %q, want %q", asked, want)
		}
		for _, r := range b.records {
			if r.Point != 4 || r.PromptTokensAsked != int(r.ID)+100 {
				t.Errorf("request %d: the record says point %d and %d prompt tokens", r.ID, r.Point, r.PromptTokensAsked)
			}
		}
	})
}

// TestALateDispatcherMovesNothing: after a stall the due times are what they
// were, and everything that came due meanwhile goes out at once.
func TestALateDispatcherMovesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := run(t.Context(), Options{
			Source: open(every(100*time.Millisecond, 20), 2*time.Second), DrainTimeout: time.Second,
			Prepare: func(job *Job) {
				if job.ID == 3 {
					time.Sleep(time.Second)
				}
			},
		})
		for _, r := range b.records {
			i := r.ID
			sched := b.result.Start + record.Instant(i)*record.Instant(100*time.Millisecond)
			dispatch := sched
			if i >= 3 { // prepared once the one before it was sent
				dispatch = max(sched, b.result.Start+record.Instant(1200*time.Millisecond))
			}
			if r.Sched != sched || r.Dispatch != dispatch {
				t.Errorf("request %d: scheduled at %d and dispatched at %d, want %d and %d", i, r.Sched, r.Dispatch, sched, dispatch)
			}
		}
		if total := b.result.Total(); total.OK != 20 {
			t.Errorf("%+v, want 20 ok", total)
		}
	})
}

func TestAnUnknownOutcomeIsADefect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := run(t.Context(), Options{
			Source: open(every(time.Second, 3), 3*time.Second),
			Do:     func(context.Context, *Job, *record.Request) {},
		})
		if b.err == nil || !strings.Contains(b.err.Error(), "3 scheduled") {
			t.Errorf("error %v, want that of the accounting", b.err)
		}
	})
}

func TestProgressIsReadWhileRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := sleep.NewClock()
		d, err := New(Options{
			Source: open(every(time.Second, 5), 5*time.Second), Do: serve(clock, 1500*time.Millisecond),
			DrainTimeout: time.Minute, Clock: clock, Sleeper: sleep.NewPortable(clock),
		})
		if err != nil {
			t.Fatal(err)
		}
		progress := make(chan record.Accounting, 1)
		time.AfterFunc(2200*time.Millisecond, func() { progress <- d.Progress() })
		if _, err := d.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		seen := <-progress
		if seen.Scheduled != 3 || seen.OK != 1 || seen.Running != 2 || seen.Check() != nil {
			t.Errorf("at 2.2 s: %+v, want 3 scheduled, 1 ok and 2 running", seen)
		}
	})
}

func TestImpossibleOptionsAreRefused(t *testing.T) {
	clock := sleep.NewClock()
	good := Options{
		Source: open(every(time.Second, 1), time.Second), Do: serve(clock, 0),
		Clock: clock, Sleeper: sleep.NewPortable(clock),
	}
	for want, change := range map[string]func(*Options){
		"must all be set":                func(o *Options) { o.Do = nil },
		"-1 requests in flight":          func(o *Options) { o.MaxInFlight = -1 },
		"a drain timeout of -1s":         func(o *Options) { o.DrainTimeout = -time.Second },
		"Source, Do, Clock and Sleeper ": func(o *Options) { o.Sleeper = nil },
	} {
		o := good
		change(&o)
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	if _, err := New(good); err != nil {
		t.Error(err)
	}
}

// TestOnTheRealClock runs with the sleeper that the program uses.
func TestOnTheRealClock(t *testing.T) {
	clock := sleep.NewClock()
	var inFlight, most atomic.Int64
	d, err := New(Options{
		Source: open(every(time.Millisecond, 100), time.Second), MaxInFlight: 3, DrainTimeout: time.Minute,
		Do: func(_ context.Context, _ *Job, rec *record.Request) {
			n := inFlight.Add(1)
			for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
			}
			time.Sleep(2 * time.Millisecond)
			inFlight.Add(-1)
			rec.Outcome = record.OK
		},
		Clock: clock, Sleeper: sleep.New(clock),
	})
	if err != nil {
		t.Fatal(err)
	}
	result, err := d.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if total := result.Total(); total.OK != 100 || most.Load() > 3 {
		t.Errorf("%+v with up to %d in flight, want 100 ok and at most 3", total, most.Load())
	}
}
