package load

import (
	"io"
	"net"
	"net/http"
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

// oneAnswer reads an answer whose reader goes away after the header, until all of
// it was written, or does not.
func oneAnswer(t *testing.T, away bool) (rec *record.Request, wrote [][2]int64) {
	t.Helper()
	clock := sleep.NewClock()
	written := make(chan [][2]int64, 1)
	reading := make(chan struct{})
	s := play(t, func(c *net.TCPConn, _ *http.Request) bool {
		io.WriteString(c, streamHead)
		<-reading
		all := spaced(c, clock.Now)
		io.WriteString(c, events(finishData, "[DONE]")+lastChunk)
		written <- all
		return true
	})
	pool := transport.New(transport.Config{Target: s.Pool.Target(), Now: clock.Now, Timestamps: transport.TimestampsKernel})
	t.Cleanup(pool.Close)
	s.Pool, s.Clock = pool, clock
	for {
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
		reading <- struct{}{}
		if away {
			wrote = <-written
		}
		a.answered(ctx, conn, contentType)
		dog.stop()
		if !away {
			wrote = <-written
		}
		if rec.Outcome != record.OK || len(rec.Events) != 4 {
			t.Fatalf("%+v", rec)
		}
		// The kernel begins to stamp a moment after it was first asked.
		if rec.Events[3].Unread > 0 {
			return rec, wrote
		}
	}
}

// judged is the verdict on a run of one request and a perfect monitor.
func judged(rec *record.Request) string {
	c := summary.NewCollector(summary.Window{Start: 0, End: rec.End + 1})
	c.Add(rec)
	observed, undelayed := c.Quantiles(summary.TTFT, 0.5)
	return health.Evidence{
		Counts: health.Counts{Due: 1, Dispatched: 1},
		Bounds: map[string]health.Bound{"ttft_p50": health.BoundOf(time.Duration(observed), time.Duration(undelayed))},
	}.Judge().Verdict
}

// A reader that was away does not know when the tokens came. It says so: the
// interval that it gives holds the truth, and the verdict moves.
func TestADelayedReaderSaysWhatItDoesNotKnow(t *testing.T) {
	for _, away := range []bool{true, false} {
		rec, wrote := oneAnswer(t, away)
		for i, ev := range rec.Events {
			// A byte came after its write began; the kernel had it, and stamped it, by
			// the time the write had returned and a moment.
			if int64(ev.At) < wrote[i][0] {
				t.Errorf("away %v: event %d came at %d, before it was written at %d", away, i, ev.At, wrote[i])
			}
			if earliest := int64(ev.At) - ev.Width; earliest > wrote[i][1] {
				t.Errorf("away %v: event %d came after %d, but was written by %d", away, i, earliest, wrote[i])
			}
		}
		first := rec.Events[0]
		verdict := judged(rec)
		if away {
			if first.Width < int64(20*time.Millisecond) || first.Delay != first.Width || rec.FirstDelay != first.Delay {
				t.Errorf("the first of four tokens that lay unread: %+v, delay of the record %d", first, rec.FirstDelay)
			}
			if verdict != health.Limited {
				t.Errorf("the verdict is %s where the reader was away, want %s", verdict, health.Limited)
			}
			continue
		}
		if first.Delay >= first.Width && first.Width > 0 || verdict == health.Limited {
			t.Errorf("a reader that waits: %+v, verdict %s", first, verdict)
		}
	}
}
