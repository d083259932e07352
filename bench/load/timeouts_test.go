package load

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"llmsim-bench/bench/record"
	"llmsim-bench/internal/sleep"
)

// TestWhatCutsARequestOff plays requests in fake time: what happens when, and
// when and why the watchdog ends them.
func TestWhatCutsARequestOff(t *testing.T) {
	const (
		sent = iota
		header
		token
		again
	)
	type event struct {
		at   time.Duration
		what int
	}
	at := func(s float64, what int) event { return event{time.Duration(s * float64(time.Second)), what} }
	all := Timeouts{Header: 2 * time.Second, FirstToken: 5 * time.Second, Progress: time.Second, Total: 20 * time.Second}
	for _, tt := range []struct {
		name     string
		limits   Timeouts
		leave    time.Duration
		events   []event
		at       float64 // when it is cut off; 0: never
		kind     string
		contains string
	}{
		{"no bounds", Timeouts{}, 0, []event{at(1, sent), at(2, header), at(9, token)}, 0, "", ""},
		{"never sent", all, 0, nil, 20, record.KindTimeout, "no end after 20s"},
		{"no header", all, 0, []event{at(1, sent)}, 3, record.KindTimeout, "no response header 2s"},
		{"no token", all, 0, []event{at(1, sent), at(2, header)}, 6, record.KindTimeout, "no token 5s"},
		{"a token before any header bound", Timeouts{FirstToken: 5 * time.Second}, 0, []event{at(1, sent), at(5.9, header), at(5.95, token)}, 0, "", ""},
		{"no progress", all, 0, []event{at(1, sent), at(2, header), at(4, token), at(4.9, token), at(5.8, token)}, 6.8, record.KindNoProgress, "no token for 1s"},
		{"progress alone waits for a first token", Timeouts{Progress: time.Second}, 0, []event{at(1, sent), at(2, header), at(9, token)}, 10, record.KindNoProgress, ""},
		{"too long in all", Timeouts{Progress: 3 * time.Second, Total: 6 * time.Second}, 0, []event{at(1, sent), at(3, token), at(5, token)}, 6, record.KindTimeout, "no end after 6s"},
		{"the client leaves", all, 1500 * time.Millisecond, []event{at(1, sent), at(1.5, header), at(2, token)}, 2.5, record.LeftAfterTime, ""},
		{"an attempt counts from its own sending", Timeouts{Header: 2 * time.Second}, 0, []event{at(1, sent), at(2.5, header), at(2.6, again), at(9, sent)}, 11, record.KindTimeout, "no response header"},
		{"the total counts from the first", all, 0, []event{at(1, sent), at(2.5, header), at(2.6, again), at(19, sent)}, 20, record.KindTimeout, "no end after 20s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clock := sleep.NewClock()
				ctx, dog := watch(context.Background(), tt.limits, tt.leave, clock.Now)
				defer dog.stop()
				start := clock.Now()
				var ended time.Duration
				context.AfterFunc(ctx, func() { ended = time.Duration(clock.Now() - start) })
				for _, ev := range tt.events {
					time.Sleep(ev.at - time.Duration(clock.Now()-start)) // in fake time
					switch ev.what {
					case sent:
						dog.wasSent(clock.Now())
					case header:
						dog.hasHeader()
					case token:
						dog.hasToken(clock.Now())
					case again:
						dog.attempt()
					}
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				if want := time.Duration(tt.at * float64(time.Second)); ended != want {
					t.Fatalf("cut off at %v, want %v", ended, want)
				}
				if tt.at == 0 {
					return
				}
				var cut *cutOff
				if !errors.As(context.Cause(ctx), &cut) || cut.kind != tt.kind || !strings.Contains(cut.message, tt.contains) {
					t.Errorf("cause %+v, want %s with %q", cut, tt.kind, tt.contains)
				}
			})
		})
	}
}

func TestAWatchThatStopsLeavesNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := sleep.NewClock()
		ctx, dog := watch(context.Background(), Timeouts{Total: time.Second}, 0, clock.Now)
		dog.stop()
		dog.hasToken(clock.Now())
		time.Sleep(time.Minute)
		if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
			t.Errorf("cause %v", cause)
		}
	})
}

func TestProgressDoesNotAllocate(t *testing.T) {
	clock := sleep.NewClock()
	_, dog := watch(context.Background(), Timeouts{Progress: time.Hour, Total: time.Hour}, 0, clock.Now)
	defer dog.stop()
	dog.wasSent(clock.Now())
	dog.hasToken(clock.Now())
	if n := testing.AllocsPerRun(1000, func() { dog.hasToken(clock.Now()) }); n != 0 {
		t.Errorf("%v allocations a token", n)
	}
}
