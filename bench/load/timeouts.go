package load

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"llmsim-bench/bench/record"
)

// Timeouts bound parts of a request; 0 is no bound. Opening a connection is
// bounded by the pool.
type Timeouts struct {
	// Header bounds the time from sending to the answer's status line.
	Header time.Duration
	// FirstToken bounds the time from sending to the first token.
	FirstToken time.Duration
	// Progress bounds the time from one event with tokens to the next.
	Progress time.Duration
	// Total bounds the whole request, from its place under the in-flight cap to its
	// end, retries and the waits between them included.
	Total time.Duration
}

// cutOff is the cause of a request's context that ended early: a timeout, or the
// client that leaves.
type cutOff struct {
	outcome, kind, message string
}

func (c *cutOff) Error() string { return c.message }

func timedOut(kind, format string, args ...any) *cutOff {
	return &cutOff{record.Failed, kind, fmt.Sprintf(format, args...)}
}

var leftAfterTime = &cutOff{outcome: record.Cancelled, kind: record.LeftAfterTime}

// watchdog cuts a request off when it takes too long. Progress costs its reader
// an atomic store: the timer looks for itself, when it fires, how late it is by
// then. Only a step that can bring the end nearer sets the timer.
type watchdog struct {
	limits     Timeouts
	leaveAfter time.Duration // since sent, 0: the client stays
	now        func() int64
	began      int64
	end        context.CancelCauseFunc

	stage    atomic.Int32
	sent     atomic.Int64 // readings of the clock
	progress atomic.Int64

	mu    sync.Mutex // guards the timer's setting
	timer *time.Timer
	over  bool
}

// The stages of an attempt.
const (
	stageUnsent int32 = iota
	stageSent
	stageHeader
	stageTokens
)

// watch returns a context that a watchdog ends. stop must be called.
func watch(ctx context.Context, limits Timeouts, leaveAfter time.Duration, now func() int64) (context.Context, *watchdog) {
	ctx, end := context.WithCancelCause(ctx)
	d := &watchdog{limits: limits, leaveAfter: leaveAfter, now: now, began: now(), end: end}
	d.arm()
	return ctx, d
}

// stop ends the watch.
func (d *watchdog) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.over = true
	if d.timer != nil {
		d.timer.Stop()
	}
	d.end(nil)
}

// allows reports whether the request may still go on after a wait.
func (d *watchdog) allows(wait time.Duration) bool {
	return d.limits.Total == 0 || d.now()+int64(wait) < d.began+int64(d.limits.Total)
}

// attempt begins the watch of another attempt.
func (d *watchdog) attempt() { d.stage.Store(stageUnsent) }

func (d *watchdog) wasSent(at int64) {
	d.sent.Store(at)
	d.enter(stageSent)
}

func (d *watchdog) hasHeader() { d.enter(stageHeader) }

// hasToken notes that tokens came at a reading of the clock.
func (d *watchdog) hasToken(at int64) {
	d.progress.Store(at)
	if d.stage.Load() != stageTokens {
		d.enter(stageTokens)
	}
}

// enter goes on to a stage, whose bounds may end sooner than those before.
func (d *watchdog) enter(stage int32) {
	d.stage.Store(stage)
	d.arm()
}

// arm sets the timer for the first bound that holds now, or ends the request if
// one has passed.
func (d *watchdog) arm() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over {
		return
	}
	at, cause := d.due()
	if cause == nil {
		return
	}
	left := time.Duration(at - d.now())
	switch {
	case left <= 0:
		d.over = true
		d.end(cause)
	case d.timer == nil:
		d.timer = time.AfterFunc(left, d.arm)
	default:
		d.timer.Reset(left)
	}
}

// due returns when the request is to be cut off as things stand, and why; nil:
// never.
func (d *watchdog) due() (at int64, cause *cutOff) {
	at = math.MaxInt64
	bound := func(from int64, limit time.Duration, of func() *cutOff) {
		if limit > 0 && from+int64(limit) < at {
			at, cause = from+int64(limit), of()
		}
	}
	bound(d.began, d.limits.Total, func() *cutOff {
		return timedOut(record.KindTimeout, "no end after %v", d.limits.Total)
	})
	sent, stage := d.sent.Load(), d.stage.Load()
	if stage == stageUnsent {
		return at, cause
	}
	bound(sent, d.leaveAfter, func() *cutOff { return leftAfterTime })
	if stage == stageSent {
		bound(sent, d.limits.Header, func() *cutOff {
			return timedOut(record.KindTimeout, "no response header %v after the request was sent", d.limits.Header)
		})
	}
	if stage != stageTokens {
		bound(sent, d.limits.FirstToken, func() *cutOff {
			return timedOut(record.KindTimeout, "no token %v after the request was sent", d.limits.FirstToken)
		})
		return at, cause
	}
	bound(d.progress.Load(), d.limits.Progress, func() *cutOff {
		return timedOut(record.KindNoProgress, "no token for %v after the one before", d.limits.Progress)
	})
	return at, cause
}
