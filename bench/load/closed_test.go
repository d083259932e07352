package load

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"llmsim-bench/bench/record"
	"llmsim-bench/internal/sleep"
)

func closed(t *testing.T, users int, w Window) *Closed {
	t.Helper()
	c, err := NewClosed(users, 0, w, asks{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestClosedLoopKeepsItsUsersBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := sleep.NewClock()
		var inFlight atomic.Int64
		const users = 4
		// Look at the number in flight between any two events.
		var looks atomic.Int64
		for at := 5 * time.Millisecond; at < 3*time.Second; at += 10 * time.Millisecond {
			time.AfterFunc(at, func() {
				looks.Add(1)
				if n := inFlight.Load(); n != users {
					t.Errorf("%d requests in flight at %v, want %d", n, at, users)
				}
			})
		}
		b := run(t.Context(), Options{
			Source: closed(t, users, Window{Warmup: time.Second, Measure: 2 * time.Second}),
			Do: func(ctx context.Context, job *Job, rec *record.Request) {
				inFlight.Add(1)
				defer inFlight.Add(-1)
				serve(clock, time.Duration(10*(3+job.ID%5))*time.Millisecond)(ctx, job, rec)
			},
			DrainTimeout: time.Minute,
		})
		if b.err != nil || looks.Load() != 300 {
			t.Fatalf("error %v after %d looks", b.err, looks.Load())
		}
		ends := make(map[record.Instant]int) // of earlier requests, not yet followed
		ends[b.result.Start] = users
		byID := make([]*record.Request, len(b.records))
		for _, r := range b.records {
			byID[r.ID] = r
			ends[r.End]++
		}
		for _, r := range byID {
			if ends[r.Sched]--; ends[r.Sched] < 0 {
				t.Errorf("request %d is scheduled at %d, where no request ended", r.ID, r.Sched)
			}
			if r.Dispatch != r.Sched {
				t.Errorf("request %d was scheduled at %d and dispatched at %d", r.ID, r.Sched, r.Dispatch)
			}
			phase := record.PhaseMeasure
			if time.Duration(r.Sched-b.result.Start) < time.Second {
				phase = record.PhaseWarmup
			}
			if r.Phase != phase || time.Duration(r.Sched-b.result.Start) >= 3*time.Second {
				t.Errorf("request %d, scheduled at %d, is in phase %s", r.ID, r.Sched, r.Phase)
			}
		}
	})
}

func TestClosedLoopDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := sleep.NewClock()
		b := run(t.Context(), Options{
			Source: closed(t, 3, Window{Measure: time.Second}),
			Do: func(ctx context.Context, job *Job, rec *record.Request) {
				takes := 700 * time.Millisecond
				if job.ID == 2 {
					takes = time.Hour
				}
				serve(clock, takes)(ctx, job, rec)
			},
			DrainTimeout: 10 * time.Second,
		})
		if b.err != nil {
			t.Fatal(b.err)
		}
		if got := b.result.Total(); got.Scheduled != 5 || got.OK != 4 || got.Cancelled != 1 {
			t.Errorf("%+v, want 4 ok and 1 cancelled", got)
		}
		if took := time.Duration(clock.Now()); took != 11*time.Second {
			t.Errorf("the run took %v, want 11s: the drain counts from the end of the window", took)
		}
	})
}

// TestClosedLoopIsCutCleanly: what ends because the run was cut has no successor.
func TestClosedLoopIsCutCleanly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := sleep.NewClock()
		ctx, cancel := context.WithTimeout(t.Context(), 1550*time.Millisecond)
		defer cancel()
		b := run(ctx, Options{
			Source: closed(t, 5, Window{Measure: time.Minute}), Do: serve(clock, 100*time.Millisecond), DrainTimeout: time.Minute,
		})
		if got := b.result.Total(); b.err != nil || got.OK != 75 || got.Cancelled != 5 || got.Scheduled != 80 {
			t.Errorf("%+v and error %v, want 75 ok and 5 cancelled", got, b.err)
		}
	})
}

func TestAUserPausesLongerWithEachFailure(t *testing.T) {
	c := closed(t, 1, Window{Measure: time.Minute})
	at := time.Duration(0)
	for i, step := range []struct {
		outcome string
		pause   time.Duration
	}{
		{record.OK, 0},
		{record.Failed, 100 * time.Millisecond},
		{record.Failed, 200 * time.Millisecond},
		{record.Failed, 400 * time.Millisecond},
		{record.Failed, 800 * time.Millisecond},
		{record.Failed, time.Second},
		{record.Failed, time.Second},
		{record.OK, 0},
		{record.Failed, 100 * time.Millisecond},
	} {
		job, state := c.Next()
		if state != Ready || job.Due != at {
			t.Fatalf("request %d: due at %v with state %d, want %v", i, job.Due, state, at)
		}
		at += 10 * time.Millisecond // it takes so long
		c.Done(&record.Request{ID: job.ID, Outcome: step.outcome}, at)
		at += step.pause
	}
	job, _ := c.Next()
	c.Done(&record.Request{ID: job.ID, Outcome: record.Failed}, time.Minute-time.Millisecond)
	if _, state := c.Next(); state != End {
		t.Error("a request is due after a pause that outlasts the window")
	}
}

// However long some users pause, every request goes out when it is due.
func TestAPauseKeepsNobodyWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := sleep.NewClock()
		b := run(t.Context(), Options{
			Source: closed(t, 2, Window{Measure: 200 * time.Millisecond}), DrainTimeout: time.Minute,
			Do: func(ctx context.Context, job *Job, rec *record.Request) {
				serve(clock, 10*time.Millisecond)(ctx, job, rec)
				if job.ID == 0 {
					rec.Outcome = record.Failed
				}
			},
		})
		// One user is served every 10 ms; the other fails at once and has the
		// last 90 of the 200 ms.
		if total := b.result.Total(); b.err != nil || total.OK != 20+9 || total.Failed != 1 {
			t.Errorf("%+v and error %v, want 29 ok and 1 failed", total, b.err)
		}
		onTime(t, b)

		// Pauses of every length, one inside the other.
		b = run(t.Context(), Options{
			Source: closed(t, 7, Window{Measure: 10 * time.Second}), DrainTimeout: time.Minute,
			Do: func(ctx context.Context, job *Job, rec *record.Request) {
				serve(clock, time.Duration(1+job.ID*37%101)*time.Millisecond)(ctx, job, rec)
				if job.ID*7919%10 < 6 {
					rec.Outcome = record.Failed
				}
			},
		})
		if total := b.result.Total(); b.err != nil || total.OK < 50 || total.Failed < 50 {
			t.Errorf("%+v and error %v, want many of both", total, b.err)
		}
		onTime(t, b)
	})
}

func onTime(t *testing.T, b *bench) {
	t.Helper()
	for _, r := range b.records {
		if r.Dispatch != r.Sched {
			t.Errorf("request %d was due at %d and dispatched at %d", r.ID, r.Sched, r.Dispatch)
		}
	}
}

func TestClosedLoopNeedsUsers(t *testing.T) {
	for _, users := range []int{0, -3} {
		if _, err := NewClosed(users, 0, Window{Measure: time.Second}, asks{}, 0); err == nil || !strings.Contains(err.Error(), "1 or more") {
			t.Errorf("%d users: error %v, want one that says the least", users, err)
		}
	}
}

func TestUsersThinkBeforeTheNextRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := sleep.NewClock()
		source, err := NewClosed(1, 300*time.Millisecond, Window{Measure: time.Second}, asks{}, 0)
		if err != nil {
			t.Fatal(err)
		}
		b := run(t.Context(), Options{Source: source, Do: serve(clock, 100*time.Millisecond), DrainTimeout: time.Minute})
		if b.err != nil || len(b.records) != 3 { // due at 0, 400 and 800 ms
			t.Fatalf("error %v, %d requests, want 3", b.err, len(b.records))
		}
		for i, r := range b.records {
			if due := time.Duration(r.Sched - b.result.Start); due != time.Duration(i)*400*time.Millisecond {
				t.Errorf("request %d is due at %v", i, due)
			}
		}
	})
}
