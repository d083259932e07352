package engine

import (
	"sync"

	"llmsim-bench/internal/wire"
	"llmsim-bench/simserver/plan"
)

// A Route chooses the replica for a request. The Router calls it from one
// goroutine at a time.
type Route interface {
	// Choose returns the index of one of the replicas, of which each is loaded with
	// so many requests.
	Choose(p *plan.Plan, load []int) int
	// Served tells that the replica has taken the request up.
	Served(p *plan.Plan, replica int)
}

// Router is an Engine that spreads requests over replicas: engines of equal
// build that know nothing of each other.
type Router struct {
	replicas []Engine
	route    Route

	mu    sync.Mutex
	load  []int   // requests accepted and not ended
	given []int64 // requests accepted since ResetSteps
}

// NewRouter returns a router over replicas, of which there must be one or more.
// They and the route are its own from now on.
func NewRouter(replicas []Engine, route Route) *Router {
	return &Router{
		replicas: replicas, route: route,
		load: make([]int, len(replicas)), given: make([]int64, len(replicas)),
	}
}

// routed is what a Router keeps with a Request.
type routed struct {
	replica int
	loads   bool // counts as the replica's load
}

// Check implements Engine.
func (r *Router) Check(p *plan.Plan) error { return r.replicas[0].Check(p) }

// Accept implements Engine: it chooses the replica. One that is full refuses,
// whatever room the others have: it was chosen without looking at that.
func (r *Router) Accept(q *Request) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	replica := r.route.Choose(q.Plan, r.load)
	if err := r.replicas[replica].Accept(q); err != nil {
		return err
	}
	r.route.Served(q.Plan, replica)
	q.routed = routed{replica: replica, loads: true}
	r.load[replica]++
	r.given[replica]++
	return nil
}

// Submit implements Engine.
func (r *Router) Submit(q *Request) {
	q.Outlet = &routedOutlet{q.Outlet, r, q}
	r.replicas[q.routed.replica].Submit(q)
}

// Abort implements Engine.
func (r *Router) Abort(q *Request) {
	r.replicas[q.routed.replica].Abort(q)
	r.ended(q)
}

// Close implements Engine.
func (r *Router) Close() {
	for _, e := range r.replicas {
		e.Close()
	}
}

// ended takes a request off its replica's load; only the first call counts.
func (r *Router) ended(q *Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if q.routed.loads {
		q.routed.loads = false
		r.load[q.routed.replica]--
	}
}

// routedOutlet tells the router when its request ends.
type routedOutlet struct {
	Outlet
	router  *Router
	request *Request
}

// Done implements Outlet.
func (o *routedOutlet) Done(err error) {
	o.router.ended(o.request)
	o.Outlet.Done(err)
}

// Steps returns the account of all replicas' steps since ResetSteps; nil if they
// have none.
func (r *Router) Steps() *wire.Steps {
	var all *StepAccount
	var late wire.LateArrivals
	for _, e := range r.replicas {
		b, ok := e.(*Batched)
		if !ok {
			return nil
		}
		account, l := b.account()
		late.GraceExpired += l.GraceExpired
		late.Requests += l.Requests
		late.MaxMS = max(late.MaxMS, l.MaxMS)
		if all == nil {
			all = account
			continue
		}
		all.merge(account)
	}
	s := all.Summary()
	s.Late = &late
	return s
}

// ResetSteps begins a new account.
func (r *Router) ResetSteps() {
	r.mu.Lock()
	clear(r.given)
	r.mu.Unlock()
	for _, e := range r.replicas {
		if b, ok := e.(*Batched); ok {
			b.ResetSteps()
		}
	}
}

// Replicas returns each replica's share since ResetSteps.
func (r *Router) Replicas() []wire.Replica {
	all := make([]wire.Replica, len(r.replicas))
	r.mu.Lock()
	for i := range all {
		all[i] = wire.Replica{Requests: r.given[i], Running: int64(r.load[i])}
	}
	r.mu.Unlock()
	for i, e := range r.replicas {
		if b, ok := e.(*Batched); ok {
			all[i].Steps = b.Steps()
		}
	}
	return all
}
