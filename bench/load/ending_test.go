package load

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"llmsim-bench/bench/arrival"
	"llmsim-bench/bench/record"
	"llmsim-bench/internal/sleep"
)

func TestDrainEndsAtItsLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := sleep.NewClock()
		answer := func(ctx context.Context, job *Job, rec *record.Request) {
			serve(clock, time.Duration(job.ID)*time.Second)(ctx, job, rec)
		}
		// Due at 0 … 9 s, they take 0 … 9 s: at 12 s, those up to 6 have ended.
		b := run(t.Context(), Options{Source: open(every(time.Second, 10), 10*time.Second), Do: answer, DrainTimeout: 2500 * time.Millisecond})
		if b.err != nil {
			t.Fatal(b.err)
		}
		if total := b.result.Total(); total.OK != 7 || total.Cancelled != 3 {
			t.Errorf("%d ok and %d cancelled, want 7 and 3", total.OK, total.Cancelled)
		}
		if took := time.Duration(clock.Now()); took != 12500*time.Millisecond {
			t.Errorf("the run took %v, want 12.5s", took)
		}
	})
}

func TestARunEndsWithItsLastRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := sleep.NewClock()
		run(t.Context(), Options{Source: open(every(time.Second, 3), time.Hour), Do: serve(clock, time.Second), DrainTimeout: time.Hour})
		if took := time.Duration(clock.Now()); took != 3*time.Second {
			t.Errorf("the run took %v, want 3s", took)
		}
	})
}

func TestCancelledOutcomes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := sleep.NewClock()
		ctx, cancel := context.WithTimeout(t.Context(), 450*time.Millisecond)
		defer cancel()
		// At 450 ms, request 0 has ended, 1 and 2 run, 3 and 4 wait for a slot, 5 and more are not due.
		b := run(ctx, Options{
			Source: open(every(100*time.Millisecond, 50), 5*time.Second), MaxInFlight: 2,
			Do: func(ctx context.Context, job *Job, rec *record.Request) {
				takes := time.Hour
				if job.ID == 0 {
					takes = 150 * time.Millisecond
				}
				serve(clock, takes)(ctx, job, rec)
			},
			DrainTimeout: time.Hour,
		})
		if b.err != nil {
			t.Fatal(b.err)
		}
		got := b.result.Total()
		if got.Scheduled != 5 || got.OK != 1 || got.Cancelled != 2 || got.Dropped != 2 || got.Running != 0 || got.Dispatched != 5 {
			t.Errorf("%+v, want 5 scheduled and dispatched, 1 ok, 2 cancelled, 2 dropped", got)
		}
		for _, r := range b.records {
			if (r.Outcome == record.Dropped) != (r.Slot == record.Unset) {
				t.Errorf("request %d is %s with slot %d", r.ID, r.Outcome, r.Slot)
			}
		}
		if took := time.Duration(clock.Now()); took != 450*time.Millisecond {
			t.Errorf("the run ended at %v, want 450ms", took)
		}
	})
}

// TestDueAndNotSentIsDropped: the dispatcher itself is behind when the run ends.
func TestDueAndNotSentIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 1050*time.Millisecond)
		defer cancel()
		b := run(ctx, Options{
			Source: open(every(100*time.Millisecond, 50), 5*time.Second),
			Prepare: func(job *Job) {
				if job.ID == 3 {
					time.Sleep(time.Second) // from 200 ms to 1.2 s
				}
			},
		})
		got := b.result.Total()
		if b.err != nil || got.Scheduled != 13 || got.OK != 3 || got.Dropped != 10 || got.Dispatched != 3 || len(b.records) != 13 {
			t.Errorf("%+v with %d records and error %v, want 13 scheduled, 3 ok and 10 dropped", got, len(b.records), b.err)
		}
	})
}

// TestIdentityHoldsWhereverARunIsCut runs open and closed loops under every mix
// of cap, outcome and moment of the end.
func TestIdentityHoldsWhereverARunIsCut(t *testing.T) {
	for seed := range uint64(60) {
		synctest.Test(t, func(t *testing.T) {
			clock := sleep.NewClock()
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(seed)*37*time.Millisecond)
			defer cancel()
			schedule, err := arrival.Poisson(100, time.Second, seed)
			if err != nil {
				t.Fatal(err)
			}
			window := Window{Warmup: 300 * time.Millisecond, Measure: 700 * time.Millisecond}
			var source Source = NewOpen(schedule, window, asks{}, 0)
			if seed%2 == 1 {
				source, err = NewClosed(int(seed%7)+1, time.Duration(seed%2)*10*time.Millisecond, window, asks{}, 0)
				if err != nil {
					t.Fatal(err)
				}
			}
			b := run(ctx, Options{
				Source: source, MaxInFlight: int(seed % 5), DrainTimeout: time.Duration(seed%3) * 100 * time.Millisecond,
				Do: func(ctx context.Context, job *Job, rec *record.Request) {
					serve(clock, time.Duration(job.ID%9)*20*time.Millisecond)(ctx, job, rec)
					if rec.Outcome == record.OK && job.ID%4 == 1 {
						rec.Outcome, rec.Kind = record.Failed, []string{record.KindHTTP5xx, record.KindReset}[job.ID%8/4]
						rec.End = record.Unset
					}
					// Otherwise users of a closed loop would never let time pass.
					time.Sleep(time.Millisecond)
				},
			})
			if b.err != nil {
				t.Error(b.err)
			}
			got := b.result.Total()
			ids := make(map[int64]bool)
			var counted record.Accounting
			for _, r := range b.records {
				ids[r.ID] = true
				counted.Count(r)
			}
			if int64(len(ids)) != got.Scheduled || got.Running != 0 {
				t.Errorf("seed %d: %d different requests have a record, of %d scheduled, and %d run", seed, len(ids), got.Scheduled, got.Running)
			}
			if counted.OK != got.OK || counted.Failed != got.Failed || counted.Cancelled != got.Cancelled || counted.Dropped != got.Dropped {
				t.Errorf("seed %d: the records say %+v, the accounting %+v", seed, counted, got)
			}
		})
	}
}

func TestARequestThatIgnoresItsEndIsReportedAsRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		b := run(t.Context(), Options{
			Source: open(every(time.Second, 3), 3*time.Second),
			Do: func(_ context.Context, job *Job, rec *record.Request) {
				if job.ID == 1 {
					<-release
				}
				rec.Outcome = record.OK
			},
			DrainTimeout: time.Second,
		})
		got := b.result.Total()
		if b.err != nil || got.OK != 2 || got.Running != 1 || got.Dispatched != 3 || len(b.records) != 2 {
			t.Errorf("%+v with %d records and error %v, want 2 ok and 1 running", got, len(b.records), b.err)
		}
		close(release)
		synctest.Wait()
		if len(b.records) != 2 {
			t.Error("a record was delivered after the end of the run")
		}
	})
}

// TestNoSlotAfterTheEnd: where a slot is free and the run is over, the end wins.
func TestNoSlotAfterTheEnd(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, slots := range []int{0, 3} {
		clock := sleep.NewClock()
		d, err := New(Options{
			Source: open(every(time.Second, 1), time.Second), Do: serve(clock, 0), MaxInFlight: slots,
			Clock: clock, Sleeper: sleep.NewPortable(clock),
		})
		if err != nil {
			t.Fatal(err)
		}
		for range 50 { // select would choose the slot half of the time
			if d.enter(ended) || len(d.slots) != 0 {
				t.Fatalf("of %d slots, %d are taken after the end of the run", slots, len(d.slots))
			}
		}
	}
}
