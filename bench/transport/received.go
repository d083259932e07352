package transport

// Received says when bytes came, in nanoseconds of the pool's clock:
// NotBefore ≤ At ≤ Read. They came after NotBefore, when nothing of them was
// there yet, and no later than At. Under TLS it is the socket read that completed
// their record which counts.
type Received struct {
	NotBefore int64
	// At is when the newest of them came: the kernel's stamp where there is one,
	// else Read.
	At int64
	// Read is when the read that brought them returned.
	Read int64
	// Waited says that the reader was there before them. Where it was not, they
	// may have lain unread for as long as Read − NotBefore.
	Waited bool
}

// lookout keeps the last moment at which a socket is known to have held nothing
// unread, over the attempts of its reads.
type lookout struct {
	empty  int64 // the moment
	tried  int64 // just before the present attempt
	waited bool  // an attempt of the present read found nothing
}

// begin begins a read.
func (l *lookout) begin() { l.waited = false }

// try begins an attempt.
func (l *lookout) try(now int64) { l.tried = now }

// nothing ends an attempt that found nothing.
func (l *lookout) nothing() { l.empty, l.waited = l.tried, true }

// something ends an attempt that found something, and returns since when that
// can have been there. One that filled its buffer may have left more behind, as
// old as what it took; one that did not took all there was.
func (l *lookout) something(full bool) (notBefore int64) {
	notBefore = l.empty
	if !full {
		l.empty = l.tried
	}
	return notBefore
}
