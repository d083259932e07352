package load

import (
	"context"
	"errors"
	"fmt"
	"io"

	"llmsim-bench/bench/openai"
	"llmsim-bench/bench/record"
	"llmsim-bench/bench/transport"
)

// attempt is one attempt at a request.
type attempt struct {
	*Sender
	job     *Job
	rec     *record.Request
	scratch *scratch
	dog     *watchdog
	// leaveAfterTokens is with how many tokens the client leaves; 0: it stays.
	leaveAfterTokens int
}

func (a *attempt) run(ctx context.Context) {
	rec := a.rec
	conn, err := a.Pool.Get(ctx)
	if err != nil {
		a.fail(ctx, record.KindConnect, err)
		return
	}
	rec.Conn = a.now()
	rec.Reused = conn.Reused()
	sent, err := conn.Send(a.job.Request)
	if err != nil {
		conn.Close()
		a.fail(ctx, kindOf(err), err)
		return
	}
	rec.Sent = record.Instant(sent)
	a.dog.wasSent(sent)
	header, at, err := conn.ReadHeader()
	if err != nil {
		conn.Close()
		a.fail(ctx, kindOf(err), err)
		return
	}
	a.dog.hasHeader()
	rec.Header = record.Instant(at)
	rec.Status = header.StatusCode()
	rec.RetryAfter = retryAfter(header)
	if rec.Status < 200 || rec.Status > 299 {
		a.refused(conn)
		return
	}
	if encoding := string(header.ContentEncoding()); encoding != "" && encoding != "identity" {
		conn.Close()
		a.fail(ctx, record.KindProtocol, fmt.Errorf("the answer is %q, although it was asked for uncompressed (Accept-Encoding: identity)", encoding))
		return
	}
	a.answered(ctx, conn, string(header.ContentType()))
}

// An answer of many more events with tokens than tokens that it was asked for never
// ends. So many are let pass.
const (
	eventsPerToken = 64
	leastEvents    = 1 << 16
)

// answered reads the body of a success and tells what it comes to.
func (a *attempt) answered(ctx context.Context, conn *transport.Conn, contentType string) {
	answer := &a.scratch.answer
	answer.KeepText, answer.MaxEvents = a.KeepText, max(eventsPerToken*a.job.OutputTokens, leastEvents)
	answer.Reset(a.API, a.API.Takes(a.Extensions).ExactTokens(a.job.OutputTokens))
	var end int64
	var err error
	left, tokens := false, 0
	for over := false; !over && !left && err == nil; {
		var n int
		var came transport.Received
		n, came, err = conn.ReadBody(a.scratch.read[:])
		end = came.At
		if n > 0 {
			over = answer.Feed(a.scratch.read[:n], openai.Received(came))
			if now := answer.Tokens(); now > tokens {
				tokens = now
				a.dog.hasToken(came.Read)
				left = !over && a.leaveAfterTokens > 0 && tokens >= a.leaveAfterTokens
			}
		}
	}
	broken := err != nil && !errors.Is(err, io.EOF)
	if broken || left {
		end = a.Clock.Now() // of the failure, which the last bytes may long precede
	}
	if left {
		conn.Close() // now: the server is to see it
	}
	result := answer.Finish(end, broken || left, contentType)
	if !left {
		a.Pool.Put(conn)
	}
	rec := a.rec
	fill(rec, &result)
	switch {
	case left:
		rec.Outcome, rec.Kind = record.Cancelled, record.LeftAfterTokens
	case result.Verdict == openai.Complete:
		rec.Outcome = record.OK
	case result.Verdict == openai.Truncated && broken:
		a.fail(ctx, kindOf(err), err)
	default:
		rec.Outcome, rec.Kind, rec.Error = record.Failed, kinds[result.Verdict], result.Message
	}
}
