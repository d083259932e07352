// Package engine decides when tokens are said. An engine takes a request (a
// plan and its arrival), places every token on the simulated timeline, and
// releases it to the request's Outlet at its due time. It knows nothing of
// content, HTTP or configuration: engines are built from plain parameters.
//
// All moments are int64 nanoseconds of one monotonic clock.
package engine

import (
	"errors"

	"llmsim-bench/simserver/plan"
)

// Clock tells the moment, in nanoseconds of a monotonic clock.
type Clock interface{ Now() int64 }

// Engine turns plans into timed streams of tokens.
type Engine interface {
	// Check returns why a plan could never be carried out, nil if it can.
	Check(p *plan.Plan) error
	// Accept takes r up, or refuses it with a *QueueFull. It never waits. What was
	// accepted must be given to Submit, or to Abort if it comes to nothing.
	Accept(r *Request) error
	// Submit begins r. The engine calls r.Outlet until it has called Done,
	// which may happen before Submit returns.
	Submit(r *Request)
	// Abort ends r early. When it returns, the engine has let go of r and
	// touches its Outlet no more; Done may have been called or not.
	Abort(r *Request)
	// Close stops the engine's goroutines. Requests still running are let go
	// of without a call of Done.
	Close()
}

// Request is one request's life in an engine.
type Request struct {
	Plan *plan.Plan
	// Arrival is when the request's last byte was received.
	Arrival int64
	// Outlet takes the tokens.
	Outlet Outlet
	// Timelines has one entry a choice. The engine fills them; they may be read
	// once Done was called or Abort returned.
	Timelines []Timeline

	// Queue is the time from the request's arrival at the scheduler to the first
	// step it got into, and QueueServer that to the moment at which that step was
	// really decided: of the choice that came first. CachedTokens is how much of its
	// prompt came from the prefix cache then, and Preemptions how often its choices
	// lost their blocks. Engines without
	// steps leave the first two at NotDelivered and the others at 0. They may be
	// read when Timelines may, all but Preemptions from the first Release on.
	Queue, QueueServer int64
	CachedTokens       int
	Preemptions        int

	entry   entry   // its place in a pacer, for engines that use one
	batched batched // its place in a Batched engine
	routed  routed  // its replica, for a Router
}

// Serial is a number that no other request of the same Batched engine has.
func (r *Request) Serial() uint64 { return r.batched.order }

// Timeline is what became of one choice's tokens, by token index.
type Timeline struct {
	// Due is when each token was due on the simulated timeline.
	Due []int64
	// Released is when each token's bytes were handed to the kernel, as far as
	// the choice came; NotDelivered where they were not.
	Released []int64
	// Backpressured counts the tokens that waited in a slow reader's buffer.
	Backpressured int

	// Queue, CachedTokens and Preemptions are what Request's fields of the name are,
	// of this choice alone.
	Queue        int64
	CachedTokens int
	Preemptions  int
}

// NotDelivered stands in Timeline.Released for a token that the release path
// did not hand to the kernel itself: it waited in a slow reader's buffer, or is
// part of an answer sent whole.
const NotDelivered = -1

// Outlet is where one request's tokens go. The engine calls it from one
// goroutine at a time; but for Flush no method may block.
type Outlet interface {
	// Prepare renders a token ahead of its due time.
	Prepare(ev plan.TokenEvent)
	// Release hands every token prepared since the last call to the kernel.
	Release() (at int64, d Delivery)
	// Flush blocks until the reader has taken all that was released. It is for
	// engines that release from the request's own goroutine.
	Flush() error
	// Done says that no other call follows: nil when every token was released,
	// else why the request ended early.
	Done(err error)
}

// Delivery says what became of released bytes.
type Delivery uint8

const (
	// Sent: the kernel took the bytes at the moment returned.
	Sent Delivery = iota
	// Backpressured: they wait in this stream's own buffer.
	Backpressured
	// Held: the answer is sent whole, with its last token.
	Held
	// Overflowed: the stream's buffer is full; the request must end.
	Overflowed
	// Gone: the client has left; the request must end.
	Gone
)

// Why a request ended early.
var (
	ErrSlowReader = errors.New("the reader took too little for too long")
	ErrClientGone = errors.New("the client closed the connection")
)

// begin sets up the timelines.
func (r *Request) begin() {
	r.entry.index = absent
	r.Queue, r.QueueServer = NotDelivered, NotDelivered
	r.Timelines = make([]Timeline, len(r.Plan.Choices))
	for i := range r.Timelines {
		n := len(r.Plan.Choices[i].Tokens)
		times := make([]int64, 2*n)
		r.Timelines[i] = Timeline{Due: times[:0:n], Released: times[n:n:cap(times)], Queue: NotDelivered}
	}
}

// prepare places the next token of a choice at due and has it rendered.
func (r *Request) prepare(choice int, due int64) {
	t := &r.Timelines[choice]
	t.Due = append(t.Due, due)
	r.Outlet.Prepare(plan.TokenEvent{Choice: choice, Index: len(t.Due) - 1, Due: due})
}

// release sends what was prepared and records it for those tokens. The error
// says that the request must end.
func (r *Request) release() error {
	at, delivery := r.Outlet.Release()
	switch delivery {
	case Overflowed:
		return ErrSlowReader
	case Gone:
		return ErrClientGone
	case Backpressured, Held:
		at = NotDelivered
	case Sent:
	}
	for i := range r.Timelines {
		t := &r.Timelines[i]
		if delivery == Backpressured {
			t.Backpressured += len(t.Due) - len(t.Released)
		}
		for len(t.Released) < len(t.Due) {
			t.Released = append(t.Released, at)
		}
	}
	return nil
}
