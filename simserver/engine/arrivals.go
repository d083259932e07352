package engine

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
