package engine

import (
	"container/heap"
	"errors"
	"math"
	"runtime"
	"sync"

	"llmsim-bench/internal/sleep"
	"llmsim-bench/internal/wire"
	"llmsim-bench/simserver/plan"
	"llmsim-bench/simserver/sched"
)

// Frontier knows of requests that have been received and are not submitted yet.
type Frontier interface {
	// Settled reports whether every request with an arrival at or before t, a
	// moment that has passed, has been submitted or turned out to be none.
	Settled(t int64) bool
}

// BatchedConfig is what a Batched engine is built from.
type BatchedConfig struct {
	// Loop is the engine's own from now on.
	Loop *Loop
	// Scheduler is the configuration of the loop's scheduler.
	Scheduler sched.Config
	// FrontEnd is how long a request takes to reach the scheduler, in ns.
	FrontEnd int64
	// Grace is how long after its place on the timeline, in ns, a Schedule call
	// waits for the Frontier. It must be well below the shortest step.
	Grace int64
	// Poll is how often it looks again meanwhile, in ns; 0: DefaultPoll.
	Poll int64
	// MaxWaiting is how many requests may have got into no step; 0: any number.
	MaxWaiting int

	Clock    Clock
	Sleeper  sleep.Sleeper
	Frontier Frontier
	// Log, where given, is told of everything that reaches the loop from outside.
	Log Log
}

// DefaultPoll is how often a Schedule call looks again whether all arrivals before
// it are known, in ns.
const DefaultPoll = 20_000

// Batched serves requests together, as a real engine does: one goroutine on a
// locked thread carries a Loop out on the wall clock. The timeline is exact:
// lateness never moves it, and because a step's tokens are due a whole step after
// it was decided, a Schedule call can wait for requests that were received before
// its place on the timeline and are still being parsed.
type Batched struct {
	config BatchedConfig
	loop   *Loop
	room   waitingRoom

	pending   arrivals    // submitted, not yet added
	sequences []*sequence // by slot of their IDs
	next      []*sequence // whose tokens are rendered, for the step that ends next
	flight    [2][]*sequence
	flying    int
	rotation  int   // who is written first
	turn      int64 // actions of the loop so far
	decided   int64 // where the last Schedule call stood

	prompt []uint32 // scratch

	*mailbox[*Request]

	counts sync.Mutex // guards what follows
	steps  *StepAccount
	late   wire.LateArrivals
}

// sequence is one choice of a request in the scheduler.
type sequence struct {
	request *Request
	choice  int
	id      sched.ID
}

// batched is what a Batched engine keeps with a Request.
type batched struct {
	handover  int64 // arrival at the scheduler
	order     uint64
	waits     bool // has a place in the waiting room
	added     bool
	over      bool
	sequences []sequence
	running   int // sequences that have not finished
	failed    error
	prepared  bool // is in Batched.next
}

// NewBatched starts the engine.
func NewBatched(config BatchedConfig) *Batched {
	b := &Batched{
		config: config, loop: config.Loop, decided: math.MinInt64,
		steps: NewStepAccount(config.Loop.Scheduler().NumBlocks(), 0, 0),
	}
	if b.config.Poll == 0 {
		b.config.Poll = DefaultPoll
	}
	b.room.max = config.MaxWaiting
	if b.config.Log == nil {
		b.config.Log = noLog{}
	}
	// A Schedule call may have to wait for anything that comes: everything wakes it.
	b.mailbox = newMailbox(config.Sleeper, b.take, b.drop, func() int64 { return never })
	go b.run()
	return b
}

// Check implements Engine.
func (b *Batched) Check(p *plan.Plan) error {
	if len(p.Prompt) == 0 {
		return errors.New("the prompt has no tokens, must have at least 1")
	}
	for i := range p.Choices {
		if err := b.config.Scheduler.CheckLengths(len(p.Prompt), len(p.Choices[i].Tokens)); err != nil {
			return err
		}
	}
	return nil
}

// Accept implements Engine.
func (b *Batched) Accept(r *Request) error {
	if err := b.room.enter(b.config.Clock.Now()); err != nil {
		return err
	}
	r.batched.waits = true
	return nil
}

// Submit implements Engine.
func (b *Batched) Submit(r *Request) {
	r.begin()
	r.batched.handover = r.Arrival + b.config.FrontEnd
	r.batched.sequences = make([]sequence, len(r.Plan.Choices))
	b.put(r, r.batched.handover)
}

// Abort implements Engine.
func (b *Batched) Abort(r *Request) { b.remove(r) }

// Close implements Engine.
func (b *Batched) Close() { b.close() }

// Steps returns the account of the steps since ResetSteps.
func (b *Batched) Steps() *wire.Steps {
	account, late := b.account()
	s := account.Summary()
	s.Late = &late
	return s
}

// account returns a copy of the account, so that summing it up holds up no step.
func (b *Batched) account() (*StepAccount, wire.LateArrivals) {
	b.counts.Lock()
	defer b.counts.Unlock()
	return b.steps.clone(), b.late
}

// ResetSteps begins a new account.
func (b *Batched) ResetSteps() {
	b.counts.Lock()
	defer b.counts.Unlock()
	b.steps, b.late = b.steps.Next(), wire.LateArrivals{}
}

func (b *Batched) run() {
	defer close(b.stopped)
	runtime.LockOSThread()
	sleep.Tighten()
	for b.collect() {
		switch action, at := b.loop.Next(); action {
		case Idle:
			b.wakeUp()
		case Schedule:
			b.decide(at)
		case Complete:
			b.complete(at)
		}
	}
}

// take queues a request for the scheduler.
func (b *Batched) take(r *Request) {
	r.batched.order = b.pending.order
	b.pending.order++
	heap.Push(&b.pending, r)
}

// drop lets go of a request wherever it is. Its Outlet is not told.
func (b *Batched) drop(r *Request) {
	if r.batched.over {
		return
	}
	r.batched.over = true
	if r.batched.waits {
		r.batched.waits = false
		b.room.left()
	}
	if !r.batched.added {
		return
	}
	aborted := false
	for i := range r.batched.sequences {
		if s := &r.batched.sequences[i]; b.sequences[s.id.Slot()] == s {
			b.sequences[s.id.Slot()] = nil
			b.loop.Abort(s.id)
			aborted = true
		}
	}
	if aborted {
		b.config.Log.Aborted(b.turn, r, b.config.Clock.Now())
	}
	b.config.Log.Ended(r, aborted || r.batched.failed != nil)
}

// wait sleeps until a moment and reports whether it has passed. A submission or
// an abort ends the sleep early.
func (b *Batched) wait(until int64) bool {
	if b.config.Clock.Now() >= until {
		return true
	}
	b.config.Sleeper.Until(until)
	return b.config.Clock.Now() >= until
}

// settled waits until every arrival up to at is known, or the grace is over. It
// returns false if it has slept and must be asked again.
func (b *Batched) settled(at int64) bool {
	now := b.config.Clock.Now()
	if b.config.Frontier.Settled(at) {
		return true
	}
	if now < at+b.config.Grace {
		b.config.Sleeper.Until(min(now+b.config.Poll, at+b.config.Grace))
		return false
	}
	b.counts.Lock()
	b.late.GraceExpired++
	b.counts.Unlock()
	return true
}

// wakeUp gives an idle loop the first request that is there.
func (b *Batched) wakeUp() {
	first := b.pending.first()
	if first == nil {
		b.config.Sleeper.Until(math.MaxInt64)
		return
	}
	if !b.wait(first.batched.handover) || !b.settled(first.batched.handover) {
		return
	}
	// The frontier may have brought an earlier one in the meantime.
	if b.collect(); b.pending.first() == nil {
		return
	}
	b.add(heap.Pop(&b.pending).(*Request))
}

// add hands a request to the scheduler.
func (b *Batched) add(r *Request) {
	if r.batched.over {
		return
	}
	r.batched.added = true
	b.config.Log.Arrived(b.turn, r)
	for i := range r.batched.sequences {
		s := &r.batched.sequences[i]
		b.prompt = b.prompt[:0]
		for _, id := range r.Plan.Prompt {
			b.prompt = append(b.prompt, uint32(id))
		}
		id, err := b.loop.Add(schedRequest(r.Plan, i, b.prompt, r.Arrival), r.batched.handover)
		if err != nil {
			// Check has let it pass, so this is a defect of this program.
			panic("engine: a checked request was refused: " + err.Error())
		}
		*s = sequence{request: r, choice: i, id: id}
		for id.Slot() >= len(b.sequences) {
			b.sequences = append(b.sequences, nil)
		}
		b.sequences[id.Slot()] = s
		r.batched.running++
	}
}

// schedRequest is what the scheduler is told of one choice.
func schedRequest(p *plan.Plan, choice int, prompt []uint32, arrival int64) sched.Request {
	c := &p.Choices[choice]
	outputs := make([]uint32, len(c.Tokens))
	for i, t := range c.Tokens {
		outputs[i] = uint32(t.ID)
	}
	return sched.Request{
		Prompt: prompt, Output: outputs, Stops: Stops(c.FinishReason, len(outputs), p.MaxTokens),
		MaxTokens: max(p.MaxTokens, len(c.Tokens)), Priority: p.Priority, ArrivalNS: arrival,
	}
}

// Stops says whether an answer of so many tokens, of which more were allowed or
// not, ends by itself. One can end for "length" before the client's limit, where it
// is scripted or recorded to.
func Stops(finishReason string, tokens, maxTokens int) bool {
	return finishReason != sched.FinishLength.String() || tokens < maxTokens
}
