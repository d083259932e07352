package conn

import "sync"

// Arrivals knows which connections have received bytes that may hold a request
// nobody has looked at yet. An engine asks it before it decides something that
// stands at a moment of the past. It is safe for concurrent use.
type Arrivals struct {
	mu   sync.Mutex
	open []*Conn
}

// Settled reports whether all that was received at or before t has been looked at.
func (a *Arrivals) Settled(t int64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.open {
		if c.openSince <= t {
			return false
		}
	}
	return true
}

// begin marks c and stamps it. That both happen at once is what Settled relies
// on: no stamp can be older than a Settled that did not see its mark.
func (a *Arrivals) begin(c *Conn) (stamp int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	stamp = c.clock.Now()
	if c.place < 0 {
		c.place = len(a.open)
		a.open = append(a.open, c)
		c.openSince = stamp
	}
	return stamp
}

func (a *Arrivals) end(c *Conn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c.place < 0 {
		return
	}
	last := len(a.open) - 1
	a.open[c.place] = a.open[last]
	a.open[c.place].place = c.place
	a.open[last] = nil
	a.open = a.open[:last]
	c.place = -1
}
