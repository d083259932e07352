package sched

// block is one KV block. Its content is its key; the scheduler needs no more.
type block struct {
	key blockKey // of a registered block
	// prev and next link the free queue; refs counts the tables that hold the
	// block. A block is in the queue exactly when refs is 0.
	prev, next int32
	refs       int32
	// older and newer link the registered blocks of equal key, in a ring.
	older, newer int32
	registered   bool
}

// blockPool owns the blocks 1 … n. Block 0 stands for none, and for the two ends
// of the free queue.
//
// A freed block keeps its key until it is taken: the prefix cache is simply the
// free blocks that still have one.
type blockPool struct {
	blocks     []block
	free       int
	index      prefixIndex
	plainFirst bool // Rules.PlainBlocksFirst
}

func newBlockPool(n int, plainFirst bool) blockPool {
	p := blockPool{blocks: make([]block, n+1), free: n, index: newPrefixIndex(n), plainFirst: plainFirst}
	for i := range p.blocks {
		p.blocks[i].prev, p.blocks[i].next = int32(i-1), int32(i+1)
	}
	p.blocks[0].prev, p.blocks[n].next = int32(n), 0
	return p
}

// take removes the first block of the free queue, with what it cached.
func (p *blockPool) take() int32 {
	b := p.blocks[0].next
	p.unlink(b)
	if p.blocks[b].registered {
		p.index.remove(p.blocks, b)
		p.blocks[b].registered = false
	}
	p.blocks[b].refs = 1
	return b
}

// adopt adds a holder to a cached block, which leaves the free queue if it had none.
func (p *blockPool) adopt(b int32) {
	if p.blocks[b].refs == 0 {
		p.unlink(b)
	}
	p.blocks[b].refs++
}

// release gives up a table, from its tail to its head: so the tail of a sequence
// is taken again before its head, on which more may depend.
func (p *blockPool) release(table []int32) {
	front := int32(0)
	for i := len(table) - 1; i >= 0; i-- {
		b := table[i]
		p.blocks[b].refs--
		switch {
		case p.blocks[b].refs > 0:
		case p.plainFirst && !p.blocks[b].registered:
			p.linkAfter(front, b)
			front = b
		default:
			p.linkAfter(p.blocks[0].prev, b)
		}
	}
}

// register makes a block's content findable.
func (p *blockPool) register(b int32, key blockKey) {
	p.blocks[b].key, p.blocks[b].registered = key, true
	p.index.insert(p.blocks, b)
}

// lookup returns a block of that key, or 0, and whether it is in the free queue.
func (p *blockPool) lookup(key blockKey) (b int32, dormant bool) {
	b = p.index.lookup(p.blocks, key)
	return b, b != 0 && p.blocks[b].refs == 0
}

// reset forgets all keys; the order of the free queue stays.
func (p *blockPool) reset() {
	for i := range p.blocks {
		p.blocks[i].registered = false
	}
	clear(p.index.slots)
}

func (p *blockPool) unlink(b int32) {
	prev, next := p.blocks[b].prev, p.blocks[b].next
	p.blocks[prev].next, p.blocks[next].prev = next, prev
	p.free--
}

func (p *blockPool) linkAfter(prev, b int32) {
	next := p.blocks[prev].next
	p.blocks[b].prev, p.blocks[b].next = prev, next
	p.blocks[prev].next, p.blocks[next].prev = b, b
	p.free++
}
