package hist

// Merge adds all that was recorded in another, which stays as it is.
func (e *Exact) Merge(other *Exact) {
	if other.folded == nil {
		for ns, n := range other.counts {
			e.Record(ns, n)
		}
		return
	}
	if e.folded == nil {
		e.fold()
	}
	e.folded.Merge(other.folded)
	e.n += other.n
	e.sum += other.sum
}
