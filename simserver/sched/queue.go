package sched

import (
	"cmp"
	"slices"
)

// waitingQueue holds the requests that are not running, in the order in which
// they are to be admitted.
type waitingQueue interface {
	// head is the next one, or nil.
	head() *sequence
	// push queues a new request; requeue one that was preempted just now.
	push(*sequence)
	requeue(*sequence)
	remove(*sequence)
	len() int
	// each calls f in order.
	each(f func(*sequence))
}

// fcfsQueue is first come, first served: a list linked through the sequences.
// Preempted ones go to its front; several in one step are preempted newest
// first, so they end up oldest first.
type fcfsQueue struct {
	first, last *sequence
	n           int
}

func (f *fcfsQueue) head() *sequence { return f.first }

func (f *fcfsQueue) push(q *sequence) {
	q.before, q.behind = f.last, nil
	f.link(q)
}

func (f *fcfsQueue) requeue(q *sequence) {
	q.before, q.behind = nil, f.first
	f.link(q)
}

func (f *fcfsQueue) link(q *sequence) {
	f.n++
	if q.before == nil {
		f.first = q
	} else {
		q.before.behind = q
	}
	if q.behind == nil {
		f.last = q
	} else {
		q.behind.before = q
	}
}

func (f *fcfsQueue) remove(q *sequence) {
	f.n--
	if q.before == nil {
		f.first = q.behind
	} else {
		q.before.behind = q.behind
	}
	if q.behind == nil {
		f.last = q.before
	} else {
		q.behind.before = q.before
	}
	q.before, q.behind = nil, nil
}

func (f *fcfsQueue) len() int { return f.n }

func (f *fcfsQueue) each(do func(*sequence)) {
	for q := f.first; q != nil; q = q.behind {
		do(q)
	}
}

// priorityQueue is sorted, the next one last so that it leaves at no cost.
type priorityQueue struct{ worstFirst []*sequence }

func (p *priorityQueue) head() *sequence {
	if len(p.worstFirst) == 0 {
		return nil
	}
	return p.worstFirst[len(p.worstFirst)-1]
}

func (p *priorityQueue) push(q *sequence) {
	p.worstFirst = slices.Insert(p.worstFirst, p.place(q), q)
}

func (p *priorityQueue) requeue(q *sequence) { p.push(q) }

func (p *priorityQueue) remove(q *sequence) {
	at := p.place(q)
	p.worstFirst = slices.Delete(p.worstFirst, at, at+1)
}

// place is where q is, or belongs.
func (p *priorityQueue) place(q *sequence) int {
	at, _ := slices.BinarySearchFunc(p.worstFirst, q, func(a, b *sequence) int { return compareUrgency(b, a) })
	return at
}

func (p *priorityQueue) len() int { return len(p.worstFirst) }

func (p *priorityQueue) each(do func(*sequence)) {
	for _, q := range slices.Backward(p.worstFirst) {
		do(q)
	}
}

// compareUrgency is negative if a is to be served before b. It is a total order.
func compareUrgency(a, b *sequence) int {
	return cmp.Or(
		compareRank(a, b),
		cmp.Compare(a.name, b.name),
		cmp.Compare(a.added, b.added),
	)
}

// compareRank leaves ties: it is what vLLM chooses a victim by.
func compareRank(a, b *sequence) int {
	return cmp.Or(
		cmp.Compare(a.priority, b.priority),
		cmp.Compare(a.arrivalNS, b.arrivalNS),
	)
}
