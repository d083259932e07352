package engine

import (
	"container/list"

	"llmsim-bench/simserver/plan"
)

// RoundRobin chooses the replicas in turn. A request that is refused has had its
// turn.
type RoundRobin struct{ next int }

// Choose implements Route.
func (r *RoundRobin) Choose(_ *plan.Plan, load []int) int {
	replica := r.next
	r.next = (r.next + 1) % len(load)
	return replica
}

// Served implements Route.
func (*RoundRobin) Served(*plan.Plan, int) {}

// LeastLoaded chooses the replica with the fewest requests accepted and not
// ended; of several the first.
type LeastLoaded struct{}

// Choose implements Route.
func (LeastLoaded) Choose(_ *plan.Plan, load []int) int {
	least := 0
	for i, n := range load {
		if n < load[least] {
			least = i
		}
	}
	return least
}

// Served implements Route.
func (LeastLoaded) Served(*plan.Plan, int) {}

// maxPrefixes is how many blocks of prompts PrefixAffinity remembers: those
// served last.
const maxPrefixes = 1 << 16

// PrefixAffinity chooses the replica that last served the longest beginning of
// the prompt, in whole blocks; where no replica has served its first block, the
// least loaded one.
type PrefixAffinity struct {
	blockSize int
	capacity  int
	blocks    map[uint64]*list.Element // by hash of the prompt up to the block's end
	recent    list.List                // of servedBlock, the last served first
}

type servedBlock struct {
	hash    uint64
	replica int
}

// NewPrefixAffinity returns the rule for blocks of so many tokens, 1 or more.
func NewPrefixAffinity(blockSize int) *PrefixAffinity {
	return &PrefixAffinity{blockSize: blockSize, capacity: maxPrefixes, blocks: make(map[uint64]*list.Element)}
}

// Choose implements Route.
func (a *PrefixAffinity) Choose(p *plan.Plan, load []int) int {
	replica := -1
	a.eachBlock(p, func(hash uint64) bool {
		known := a.blocks[hash]
		if known != nil {
			replica = known.Value.(servedBlock).replica
		}
		return known != nil
	})
	if replica >= 0 {
		return replica
	}
	return LeastLoaded{}.Choose(p, load)
}

// Served implements Route.
func (a *PrefixAffinity) Served(p *plan.Plan, replica int) {
	var behind *list.Element // a prompt's first block is the last to be forgotten
	blocks := 0
	a.eachBlock(p, func(hash uint64) bool {
		e := a.blocks[hash]
		switch {
		case e == nil && behind == nil:
			e = a.recent.PushFront(nil)
		case e == nil:
			e = a.recent.InsertAfter(nil, behind)
		case behind == nil:
			a.recent.MoveToFront(e)
		default:
			a.recent.MoveAfter(e, behind)
		}
		e.Value = servedBlock{hash, replica}
		a.blocks[hash] = e
		behind = e
		blocks++
		return blocks < a.capacity
	})
	for len(a.blocks) > a.capacity {
		delete(a.blocks, a.recent.Remove(a.recent.Back()).(servedBlock).hash)
	}
}

// eachBlock calls f with the hash of the prompt up to the end of each whole block,
// until f returns false. The hash is FNV-1a's, over tokens instead of bytes.
func (a *PrefixAffinity) eachBlock(p *plan.Plan, f func(hash uint64) bool) {
	hash := uint64(14695981039346656037)
	for i, id := range p.Prompt {
		hash = (hash ^ uint64(id)) * 1099511628211
		if (i+1)%a.blockSize == 0 && !f(hash) {
			return
		}
	}
}
