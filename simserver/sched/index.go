package sched

// prefixIndex finds the block with a given key. Blocks of equal content may be
// registered side by side; the oldest one still there is found.
//
// It is a hash table with linear probing. A slot holds the oldest block of its
// key; the others follow in a ring through the blocks themselves. There are at
// most as many keys as blocks, so it never grows and never allocates.
type prefixIndex struct {
	slots []int32 // block ids; 0, the null block, marks an empty slot
	mask  uint64
}

// newPrefixIndex makes an index for n blocks, at most half full.
func newPrefixIndex(n int) prefixIndex {
	size := 4
	for size < 2*n {
		size *= 2
	}
	return prefixIndex{slots: make([]int32, size), mask: uint64(size - 1)}
}

// find returns the slot of a key, or the empty one where it would be.
func (x *prefixIndex) find(blocks []block, key blockKey) uint64 {
	at := uint64(key) & x.mask
	for x.slots[at] != 0 && blocks[x.slots[at]].key != key {
		at = (at + 1) & x.mask
	}
	return at
}

// lookup returns the oldest block of a key, or 0.
func (x *prefixIndex) lookup(blocks []block, key blockKey) int32 {
	return x.slots[x.find(blocks, key)]
}

// insert registers block b, whose key is set, as the newest of its key.
func (x *prefixIndex) insert(blocks []block, b int32) {
	at := x.find(blocks, blocks[b].key)
	oldest := x.slots[at]
	if oldest == 0 {
		x.slots[at] = b
		blocks[b].older, blocks[b].newer = b, b
		return
	}
	newest := blocks[oldest].older
	blocks[b].older, blocks[b].newer = newest, oldest
	blocks[newest].newer, blocks[oldest].older = b, b
}

// remove takes block b out.
func (x *prefixIndex) remove(blocks []block, b int32) {
	at := x.find(blocks, blocks[b].key)
	older, newer := blocks[b].older, blocks[b].newer
	if newer == b {
		x.vacate(blocks, at)
		return
	}
	blocks[older].newer, blocks[newer].older = newer, older
	if x.slots[at] == b {
		x.slots[at] = newer
	}
}

// vacate empties a slot, and moves up the ones behind it that had to give way.
func (x *prefixIndex) vacate(blocks []block, hole uint64) {
	for at := (hole + 1) & x.mask; x.slots[at] != 0; at = (at + 1) & x.mask {
		home := uint64(blocks[x.slots[at]].key) & x.mask
		if (at-home)&x.mask >= (at-hole)&x.mask {
			x.slots[hole] = x.slots[at]
			hole = at
		}
	}
	x.slots[hole] = 0
}
