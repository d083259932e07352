package llm

import (
	"slices"

	"llmsim-bench/simserver/plan"
)

// mergeNode is a part of a piece: its token, and the token that it and the next
// part make. A part ends where the next one starts, and starts at its index.
type mergeNode struct {
	id, merged plan.TokenID
	prev, next int32
}

// noToken is no token's id.
const noToken = ^plan.TokenID(0)

// merge returns the tokens of piece as a list of nodes: it starts with the first
// and goes on with next until that is the piece's length. It takes n log n of
// that length, and uses the memory of nodes and queue, which are returned so
// that the next piece can use it again.
func (v *tokenTable) merge(piece string, nodes []mergeNode, queue mergeQueue) ([]mergeNode, mergeQueue) {
	nodes, queue = slices.Grow(nodes[:0], len(piece)), slices.Grow(queue[:0], 2*len(piece))
	for i := range int32(len(piece)) {
		nodes = append(nodes, mergeNode{id: v.bytes[piece[i]], prev: i - 1, next: i + 1})
	}
	for i := range int32(len(piece)) {
		queue = v.consider(piece, nodes, queue, i)
	}
	for len(queue) > 0 {
		var best mergeCandidate
		best, queue = queue.pop()
		at := best.start()
		node := &nodes[at]
		if node.merged == noToken || candidate(node.merged, at) != best {
			continue // a part of it has merged otherwise
		}
		gone := &nodes[node.next]
		node.id, node.next, gone.merged = node.merged, gone.next, noToken
		if int(node.next) < len(piece) {
			nodes[node.next].prev = at
		}
		queue = v.consider(piece, nodes, queue, at)
		if node.prev >= 0 {
			queue = v.consider(piece, nodes, queue, node.prev)
		}
	}
	return nodes, queue
}

// consider finds what the part at i makes with the next one.
func (v *tokenTable) consider(piece string, nodes []mergeNode, queue mergeQueue, i int32) mergeQueue {
	node := &nodes[i]
	node.merged = noToken
	if int(node.next) < len(piece) {
		if id, ok := v.lookup(piece[i:nodes[node.next].next]); ok {
			node.merged = id
			queue = queue.push(candidate(id, i))
		}
	}
	return queue
}

// mergeCandidate is a pair of parts, by the token that they make and where they
// start. Their order is the order of merging.
type mergeCandidate uint64

func candidate(merged plan.TokenID, start int32) mergeCandidate {
	return mergeCandidate(merged)<<32 | mergeCandidate(start)
}

func (c mergeCandidate) start() int32 { return int32(c & (1<<32 - 1)) }

// mergeQueue is a heap whose first element is the least. A pair that can't merge
// any more stays in it until it is the least.
type mergeQueue []mergeCandidate

func (q mergeQueue) push(c mergeCandidate) mergeQueue {
	q = append(q, c)
	i := len(q) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if q[parent] <= c {
			break
		}
		q[i] = q[parent]
		i = parent
	}
	q[i] = c
	return q
}

// pop takes the least element of a queue that is not empty.
func (q mergeQueue) pop() (mergeCandidate, mergeQueue) {
	best, last := q[0], q[len(q)-1]
	q = q[:len(q)-1]
	for i := 0; len(q) > 0; {
		child := 2*i + 1
		if child+1 < len(q) && q[child+1] < q[child] {
			child++
		}
		if child >= len(q) || last <= q[child] {
			q[i] = last
			break
		}
		q[i] = q[child]
		i = child
	}
	return best, q
}
