package hist

import "maps"

// Clone returns a copy that shares nothing with d. It costs a copy of memory,
// where Stats walks it: who holds a lock clones and summarises after.
func (d *Duration) Clone() *Duration { return &Duration{h: d.h.Clone(), sum: d.sum} }

// Clone returns a copy that shares nothing with e.
func (e *Exact) Clone() *Exact {
	c := &Exact{counts: maps.Clone(e.counts), n: e.n, sum: e.sum, digits: e.digits}
	if e.folded != nil {
		c.folded = e.folded.Clone()
	}
	return c
}
