package engine

import (
	"container/heap"
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

// Log takes what a Batched engine acts on, with its effective place: how many
// actions the loop had carried out before it. A loop that is told the same in the
// same places has the same timeline. The methods are called from the engine's
// thread and must not block; what they are given may be kept, but not changed.
type Log interface {
	// Arrived is called when a request reaches the scheduler.
	Arrived(turn int64, r *Request)
	// Aborted is called when one is taken out of it, and when that was.
	Aborted(turn int64, r *Request, at int64)
	// Ended is called when a request has its last token, or was aborted.
	Ended(r *Request, aborted bool)
}

// noLog is the Log of an engine that has none.
type noLog struct{}

func (noLog) Arrived(int64, *Request)        {}
func (noLog) Aborted(int64, *Request, int64) {}
func (noLog) Ended(*Request, bool)           {}

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

	mu      sync.Mutex
	inbox   []*Request
	leave   []leavingRequest
	closed  bool
	steps   *StepAccount
	late    wire.LateArrivals
	stopped chan struct{}
}

// leavingRequest is a wish to end a request; gone is closed when it has.
type leavingRequest struct {
	request *Request
	gone    chan struct{}
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
		config: config, loop: config.Loop, decided: math.MinInt64, stopped: make(chan struct{}),
		steps: NewStepAccount(config.Loop.Scheduler().NumBlocks(), 0, 0),
	}
	if b.config.Poll == 0 {
		b.config.Poll = DefaultPoll
	}
	b.room.max = config.MaxWaiting
	if b.config.Log == nil {
		b.config.Log = noLog{}
	}
	go b.run()
	return b
}

// Check implements Engine.
func (b *Batched) Check(p *plan.Plan) error {
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
	b.mu.Lock()
	b.inbox = append(b.inbox, r)
	b.mu.Unlock()
	b.config.Sleeper.Wake()
}

// Abort implements Engine.
func (b *Batched) Abort(r *Request) {
	gone := make(chan struct{})
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		<-b.stopped
		return
	}
	b.leave = append(b.leave, leavingRequest{r, gone})
	b.mu.Unlock()
	b.config.Sleeper.Wake()
	<-gone
}

// Close implements Engine.
func (b *Batched) Close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.config.Sleeper.Wake()
	<-b.stopped
}

// Steps returns the account of the steps since ResetSteps.
func (b *Batched) Steps() *wire.Steps {
	account, late := b.account()
	s := account.Summary()
	s.Late = &late
	return s
}

// account returns a copy of the account, so that summing it up holds up no step.
func (b *Batched) account() (*StepAccount, wire.LateArrivals) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.steps.clone(), b.late
}

// ResetSteps begins a new account.
func (b *Batched) ResetSteps() {
	b.mu.Lock()
	defer b.mu.Unlock()
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

// collect takes over what other goroutines left, and reports whether to go on.
func (b *Batched) collect() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, r := range b.inbox {
		r.batched.order = b.pending.order
		b.pending.order++
		heap.Push(&b.pending, r)
		b.inbox[i] = nil
	}
	b.inbox = b.inbox[:0]
	for _, l := range b.leave {
		b.drop(l.request)
		close(l.gone)
	}
	b.leave = b.leave[:0]
	return !b.closed
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
	b.mu.Lock()
	b.late.GraceExpired++
	b.mu.Unlock()
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

// decide makes the Schedule call that stands at a moment of the timeline.
func (b *Batched) decide(at int64) {
	if !b.wait(at) || !b.settled(at) {
		return
	}
	if !b.collect() {
		return
	}
	for r := b.pending.first(); r != nil && r.batched.handover <= at; r = b.pending.first() {
		b.add(heap.Pop(&b.pending).(*Request))
		b.countLate(r, at)
	}
	b.decided = at
	if action, _ := b.loop.Next(); action != Schedule {
		return // an abort came in between, and nothing is left to do
	}
	b.turn++
	now := b.config.Clock.Now()
	step, t := b.loop.Schedule()
	b.admit(step, t.Scheduled, now)
	for _, id := range step.Preempted {
		b.sequences[id.Slot()].request.Preemptions++
	}
	outputs := b.flight[b.flying][:0]
	for _, q := range step.Seqs {
		if q.Samples {
			outputs = append(outputs, b.sequences[q.ID.Slot()])
		}
	}
	b.flight[b.flying] = outputs
	b.flying++
	b.mu.Lock()
	b.steps.Step(step, t, b.loop.Scheduler())
	b.mu.Unlock()
	if b.flying == 1 {
		b.render(t.End)
	}
}

// admit notes who got into a step for the first time, which stands at a moment of
// the timeline and was decided now.
func (b *Batched) admit(step *sched.Step, at, now int64) {
	served := 0
	for _, a := range step.Admitted {
		r := b.sequences[a.ID.Slot()].request
		if a.Resumed {
			continue
		}
		if r.Queue == NotDelivered {
			r.Queue, r.QueueServer = at-r.batched.handover, now-r.batched.handover
		}
		if r.batched.waits {
			r.batched.waits = false
			served++
		}
		r.CachedTokens = max(r.CachedTokens, int(a.Cached))
	}
	b.room.served(served, now)
}

// countLate counts a request that an earlier Schedule call should have seen.
func (b *Batched) countLate(r *Request, at int64) {
	if r.batched.handover > b.decided || at == b.decided {
		return
	}
	b.mu.Lock()
	b.late.Requests++
	b.late.MaxMS = max(b.late.MaxMS, float64(at-b.decided)/1e6)
	b.mu.Unlock()
}

// render prepares the tokens of the step that ends next.
func (b *Batched) render(due int64) {
	b.next = b.next[:0]
	for _, s := range b.flight[0] {
		if b.sequences[s.id.Slot()] != s { // aborted, or ended one step before
			continue
		}
		s.request.prepare(s.choice, due)
		if !s.request.batched.prepared { // several choices are written at once
			s.request.batched.prepared = true
			b.next = append(b.next, s)
		}
	}
}

// complete ends the oldest step: its tokens are written, then the scheduler
// learns of them.
func (b *Batched) complete(at int64) {
	if !b.wait(at) {
		return
	}
	n := len(b.next)
	for i := range n {
		s := b.next[(i+b.rotation)%n]
		r := s.request
		r.batched.prepared = false
		if !r.batched.over {
			r.batched.failed = r.release()
		}
	}
	b.rotation++

	b.turn++
	outputs, _ := b.loop.Complete()
	for _, out := range outputs {
		s := b.sequences[out.ID.Slot()]
		if out.Finish != sched.Unfinished {
			b.sequences[out.ID.Slot()] = nil
			s.request.batched.running--
		}
	}
	for i, s := range b.next {
		if r := s.request; !r.batched.over && (r.batched.failed != nil || r.batched.running == 0) {
			b.drop(r)
			r.Outlet.Done(r.batched.failed)
		}
		b.next[i] = nil
	}
	b.next = b.next[:0]
	b.flight[0], b.flight[1] = b.flight[1], b.flight[0]
	b.flying--
	if b.flying > 0 {
		b.render(b.loop.OldestEnd())
	}
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
		Prompt: prompt, Output: outputs, Stops: c.FinishReason == sched.FinishStop.String(),
		MaxTokens: max(p.MaxTokens, len(c.Tokens)), Priority: p.Priority, ArrivalNS: arrival,
	}
}

// arrivals orders requests by their arrival at the scheduler, then by order of
// submission (container/heap).
type arrivals struct {
	requests []*Request
	order    uint64 // the next one's
}

func (a *arrivals) first() *Request {
	if len(a.requests) == 0 {
		return nil
	}
	return a.requests[0]
}

func (a *arrivals) Len() int { return len(a.requests) }

func (a *arrivals) Less(i, j int) bool {
	x, y := &a.requests[i].batched, &a.requests[j].batched
	if x.handover != y.handover {
		return x.handover < y.handover
	}
	return x.order < y.order
}

func (a *arrivals) Swap(i, j int) { a.requests[i], a.requests[j] = a.requests[j], a.requests[i] }
func (a *arrivals) Push(x any)    { a.requests = append(a.requests, x.(*Request)) }

func (a *arrivals) Pop() any {
	last := a.requests[len(a.requests)-1]
	a.requests[len(a.requests)-1] = nil
	a.requests = a.requests[:len(a.requests)-1]
	return last
}
