package engine

import "llmsim-bench/simserver/plan"

// instantBatch is how many tokens Instant releases at once.
const instantBatch = 32

// Instant says every token at the moment of its request's arrival, as fast as
// the reader takes them: a server that costs nothing.
type Instant struct{}

// Check implements Engine: every plan can be carried out.
func (Instant) Check(*plan.Plan) error { return nil }

// Accept implements Engine: nobody waits.
func (Instant) Accept(*Request) error { return nil }

// Submit implements Engine: the whole answer is given before it returns.
func (Instant) Submit(r *Request) {
	r.begin()
	r.Outlet.Done(say(r))
}

func say(r *Request) error {
	for choice := range r.Plan.Choices {
		n := len(r.Plan.Choices[choice].Tokens)
		for from := 0; from < n; from += instantBatch {
			for range min(instantBatch, n-from) {
				r.prepare(choice, r.Arrival)
			}
			if err := r.release(); err != nil {
				return err
			}
			if err := r.Outlet.Flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// Abort implements Engine: nothing runs on after Submit.
func (Instant) Abort(*Request) {}

// Close implements Engine.
func (Instant) Close() {}
