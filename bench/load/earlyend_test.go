package load

import (
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"llmsim-bench/bench/record"
)

// TestTimeoutsOfEachPart: a server that stops at some point of its answer is
// given up for what it did not do.
func TestTimeoutsOfEachPart(t *testing.T) {
	soon := 20 * time.Millisecond
	all := Timeouts{Header: soon, FirstToken: soon, Progress: soon}
	for _, tt := range []struct {
		name, raw, kind string
	}{
		{"no header", "", record.KindTimeout},
		{"no token", streamHead + events(`{"choices":[{"index":0,"delta":{"role":"assistant"}}]}`), record.KindTimeout},
		{"no more tokens", streamHead + events(token("a")), record.KindNoProgress},
	} {
		t.Run(tt.name, func(t *testing.T) {
			hold := make(chan struct{})
			t.Cleanup(func() { close(hold) })
			s := play(t, func(c *net.TCPConn, _ *http.Request) bool {
				io.WriteString(c, tt.raw)
				<-hold
				return false
			})
			s.Timeouts = all
			rec := sendOne(t.Context(), s)
			if rec.Outcome != record.Failed || rec.Kind != tt.kind || rec.Error == "" {
				t.Errorf("%s %s %q, want failed %s", rec.Outcome, rec.Kind, rec.Error, tt.kind)
			}
			inOrder(t, rec)
		})
	}
}

// TestLeavingAfterTokens: a client that leaves closes its connection at once,
// and what it saw until then is kept.
func TestLeavingAfterTokens(t *testing.T) {
	closed := make(chan error, 1)
	s := play(t, func(c *net.TCPConn, _ *http.Request) bool {
		io.WriteString(c, streamHead+events(token("a"), token("b"), token("c")))
		_, err := c.Read(make([]byte, 1)) // waits for the client to go
		closed <- err
		return false
	})
	s.Leave = Leave{Fraction: 1, AfterTokens: 3}
	rec := sendOne(t.Context(), s)
	if rec.Outcome != record.Cancelled || rec.Kind != record.LeftAfterTokens || rec.OutputTokens != 3 || rec.Last == record.Unset {
		t.Errorf("%+v", rec)
	}
	inOrder(t, rec)
	if err := <-closed; err == nil {
		t.Error("the client sent something instead of leaving")
	}
}

func TestLeavingAfterATime(t *testing.T) {
	hold := make(chan struct{})
	t.Cleanup(func() { close(hold) })
	s := play(t, func(c *net.TCPConn, _ *http.Request) bool {
		io.WriteString(c, streamHead+events(token("a")))
		<-hold
		return false
	})
	s.Leave = Leave{Fraction: 1, After: 20 * time.Millisecond}
	rec := sendOne(t.Context(), s)
	if rec.Outcome != record.Cancelled || rec.Kind != record.LeftAfterTime || rec.OutputTokens != 1 {
		t.Errorf("%+v", rec)
	}
}

// An answer that is over with the last token the client would wait for is ok.
func TestWhoeverHasTheWholeAnswerDoesNotLeave(t *testing.T) {
	s := play(t, func(c *net.TCPConn, _ *http.Request) bool {
		io.WriteString(c, streamHead+events(token("a"), token("b"))+events("[DONE]")+lastChunk)
		return true
	})
	s.Leave = Leave{Fraction: 1, AfterTokens: 3}
	if rec := sendOne(t.Context(), s); rec.Outcome != record.OK {
		t.Errorf("%+v", rec)
	}
}

func TestRetries(t *testing.T) {
	const slowDown = "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 0.02\r\nContent-Length: 0\r\n\r\n"
	const broken = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 0.02\r\nContent-Length: 0\r\n\r\n"
	const wrong = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"
	good := streamHead + events(token("a"), "[DONE]") + lastChunk
	limited, unavailable := record.KindRateLimited, record.KindHTTP5xx
	for _, tt := range []struct {
		name          string
		answers       []string
		retries       int
		outcome, kind string
		retried       []string
	}{
		{"none unasked", []string{slowDown}, 0, record.Failed, limited, nil},
		{"until it goes well", []string{slowDown, broken, good}, 5, record.OK, "", []string{limited, unavailable}},
		{"as often as asked", []string{slowDown, slowDown, slowDown}, 2, record.Failed, limited, []string{limited, limited}},
		{"not what is wrong by itself", []string{wrong}, 5, record.Failed, record.KindHTTP4xx, nil},
		{"not what has begun", []string{streamHead + events(token("a")) + lastChunk}, 5, record.Failed, record.KindTruncated, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var asked atomic.Int64
			s := play(t, func(c *net.TCPConn, _ *http.Request) bool {
				io.WriteString(c, tt.answers[min(int(asked.Add(1)), len(tt.answers))-1])
				return true
			})
			s.Retries = tt.retries
			rec := record.New()
			rec.ID, rec.Sched, rec.Dispatch, rec.Slot = 7, 1, 2, 3
			s.Send(t.Context(), &Job{ID: 7, Prompt: []byte("hi"), OutputTokens: 3}, rec)
			if rec.Outcome != tt.outcome || rec.Kind != tt.kind || !slices.Equal(rec.Retried, tt.retried) || int(asked.Load()) != len(tt.answers) {
				t.Errorf("%s %s after %v, asked %d times; want %+v", rec.Outcome, rec.Kind, rec.Retried, asked.Load(), tt)
			}
			if rec.ID != 7 || rec.Sched != 1 || rec.Dispatch != 2 || rec.Slot != 3 {
				t.Errorf("the first attempt's instants are lost: %+v", rec)
			}
		})
	}
}

// A wait that the request's time does not allow is not begun: the refusal stands.
func TestAWaitThatWouldBeTooLongIsNoTimeout(t *testing.T) {
	s := play(t, func(c *net.TCPConn, _ *http.Request) bool {
		io.WriteString(c, "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1000\r\nContent-Length: 0\r\n\r\n")
		return true
	})
	s.Retries, s.Timeouts.Total = 3, 10*time.Second
	rec := sendOne(t.Context(), s)
	if rec.Outcome != record.Failed || rec.Kind != record.KindRateLimited || len(rec.Retried) != 0 {
		t.Errorf("%+v", rec)
	}
}

// The bounds of an attempt don't cover the wait for the next one.
func TestTheWaitBetweenAttemptsIsNoAttempt(t *testing.T) {
	var asked atomic.Int64
	s := play(t, func(c *net.TCPConn, _ *http.Request) bool {
		if asked.Add(1) == 1 {
			io.WriteString(c, "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 0.3\r\nContent-Length: 0\r\n\r\n")
		} else {
			io.WriteString(c, streamHead+events(token("a"), "[DONE]")+lastChunk)
		}
		return true
	})
	s.Retries, s.Timeouts.FirstToken, s.Timeouts.Header = 1, 200*time.Millisecond, 200*time.Millisecond
	if rec := sendOne(t.Context(), s); rec.Outcome != record.OK || len(rec.Retried) != 1 {
		t.Errorf("%+v", rec)
	}
}

// A run that ends in the wait keeps what the attempt failed of.
func TestARunThatEndsInTheWait(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := play(t, func(c *net.TCPConn, _ *http.Request) bool {
		io.WriteString(c, "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1000\r\nContent-Length: 0\r\n\r\n")
		time.AfterFunc(50*time.Millisecond, cancel)
		return true
	})
	s.Retries, s.Timeouts.Total = 3, 0
	rec := sendOne(ctx, s)
	if rec.Outcome != record.Cancelled || !slices.Equal(rec.Retried, []string{record.KindRateLimited}) {
		t.Errorf("%+v", rec)
	}
}
