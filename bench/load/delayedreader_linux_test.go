package load

import (
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"llmsim-bench/bench/health"
	"llmsim-bench/bench/record"
	"llmsim-bench/bench/summary"
	"llmsim-bench/bench/transport"
	"llmsim-bench/internal/sleep"
)

// spaced writes four events, some milliseconds apart by its own clock, and tells
// for each the moments between which it was written.
func spaced(c *net.TCPConn, now func() int64) (wrote [][2]int64) {
	for _, text := range []string{"a", "b", "c", "d"} {
		for until := now() + int64(8*time.Millisecond); now() < until; {
			time.Sleep(time.Millisecond) // the server's own pace
		}
		before := now()
		io.WriteString(c, events(token(text)))
		wrote = append(wrote, [2]int64{before, now()})
	}
	return wrote
}

// delay is why a reader reads late.
type delay int

const (
	inTime  delay = iota
	away          // it was not reading when the tokens came
	stalled       // it was, but did not run
)

// maxAnswers is how many answers are read until one is as wanted: the kernel
// begins to stamp a moment after it was first asked, and who waits is a race.
const maxAnswers = 200

// oneAnswer reads an answer whose reader is late until all of it was written, or
// is not. stall is how long it did not run.
func oneAnswer(t *testing.T, d delay) (rec *record.Request, wrote [][2]int64, stall time.Duration) {
	t.Helper()
	clock := sleep.NewClock()
	written := make(chan [][2]int64, 1)
	reading := make(chan struct{})
	var gate atomic.Pointer[chan struct{}] // where it is set, the pool's clock waits for it
	var stalledFor atomic.Int64
	now := func() int64 {
		if g := gate.Load(); g != nil {
			began := clock.Now()
			<-*g
			stalledFor.Store(max(stalledFor.Load(), clock.Now()-began))
		}
		return clock.Now()
	}
	s := play(t, func(c *net.TCPConn, _ *http.Request) bool {
		io.WriteString(c, streamHead)
		<-reading
		open := make(chan struct{})
		if d == stalled {
			for until := clock.Now() + int64(5*time.Millisecond); clock.Now() < until; {
				time.Sleep(time.Millisecond) // the reader is waiting by then, or the answer does not count
			}
			gate.Store(&open)
		}
		all := spaced(c, clock.Now)
		io.WriteString(c, events(finishData, "[DONE]")+lastChunk)
		gate.Store(nil)
		close(open)
		written <- all
		return true
	})
	pool := transport.New(transport.Config{Target: s.Pool.Target(), Now: now, Timestamps: transport.TimestampsKernel})
	t.Cleanup(pool.Close)
	s.Pool, s.Clock = pool, clock
	for range maxAnswers {
		rec = record.New()
		rec.Phase = record.PhaseMeasure
		job := Job{Prompt: []byte("hi"), OutputTokens: 4}
		s.Prepare(&job)
		rec.Sched, rec.Dispatch = s.now(), s.now()
		ctx, dog := watch(t.Context(), Timeouts{}, 0, clock.Now)
		a := attempt{Sender: s, job: &job, rec: rec, scratch: &scratch{}, dog: dog}
		conn, err := pool.Get(ctx)
		if err != nil {
			t.Fatal(err)
		}
		sent, err := conn.Send(job.Request)
		if err != nil {
			t.Fatal(err)
		}
		rec.Conn, rec.Sent = record.Instant(sent), record.Instant(sent)
		header, _, err := conn.ReadHeader()
		if err != nil {
			t.Fatal(err)
		}
		contentType := string(header.ContentType())
		stalledFor.Store(0)
		reading <- struct{}{}
		if d == away {
			wrote = <-written
		}
		a.answered(ctx, conn, contentType)
		dog.stop()
		if d != away {
			wrote = <-written
		}
		if rec.Outcome != record.OK || len(rec.Events) != 4 {
			t.Fatalf("%+v", rec)
		}
		first := rec.Events[0]
		if rec.Events[3].Unread > 0 && first.Away == (d == away) && (d != stalled || first.Width > 0) {
			return rec, wrote, time.Duration(stalledFor.Load())
		}
	}
	t.Fatalf("none of %d answers was read as wanted with a stamp of the kernel's; the last: %+v", maxAnswers, rec)
	return nil, nil, 0
}

// judged is the verdict on a run of one request, whose monitor saw one stall.
func judged(rec *record.Request, stall time.Duration) string {
	c := summary.NewCollector(summary.Window{Start: 0, End: rec.End + 1}, func(record.Instant, record.Instant) time.Duration { return stall })
	c.Add(rec)
	observed, undelayed := c.Quantiles(summary.TTFT, 0.5)
	return health.Evidence{
		Counts: health.Counts{Due: 1, Dispatched: 1},
		Bounds: map[string]health.Bound{"ttft_p50": health.BoundOf(time.Duration(observed), time.Duration(undelayed))},
	}.Judge().Verdict
}

// A reader that was late does not know when the tokens came. It says so: the
// interval that it gives holds the truth, and the verdict moves.
func TestADelayedReaderSaysWhatItDoesNotKnow(t *testing.T) {
	for name, d := range map[string]delay{"in time": inTime, "away": away, "stalled": stalled} {
		t.Run(name, func(t *testing.T) {
			rec, wrote, stall := oneAnswer(t, d)
			for i, ev := range rec.Events {
				// A byte came after its write began, and the kernel had it by the time the
				// write had returned.
				if int64(ev.At) < wrote[i][0] || int64(ev.At)-ev.Width > wrote[i][1] {
					t.Errorf("event %d came in the %d ns before %d, but was written at %d", i, ev.Width, ev.At, wrote[i])
				}
			}
			verdict := judged(rec, stall)
			if d == inTime {
				if verdict == health.Limited {
					t.Errorf("the verdict is %s: %+v", verdict, rec.Events[0])
				}
				return
			}
			if first := rec.Events[0]; first.Width < int64(20*time.Millisecond) || rec.FirstCame != first.Came {
				t.Errorf("the first of four tokens that lay unread: %+v, in the record %+v", first, rec.FirstCame)
			}
			if verdict != health.Limited {
				t.Errorf("the verdict is %s, want %s", verdict, health.Limited)
			}
		})
	}
}
