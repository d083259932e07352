package selftest

import (
	"errors"
	"math"
	"net"
	"testing"
	"time"

	"llmsim-bench/internal/sleep"
)

// frozen is a clock that is set by hand.
type frozen struct{ now int64 }

func (f *frozen) Now() int64 { return f.now }

// paper is a connection that counts what is written to it.
type paper struct {
	net.Conn
	writes, ends int
	err          error
}

func (p *paper) Write(b []byte) (int, error) {
	p.writes++
	if len(b) == len(lastOfStream) {
		p.ends++
	}
	return len(b), p.err
}

func paperStream(events int) (*stream, *paper) {
	c := &paper{}
	return &stream{conn: c, left: events, done: make(chan struct{}, 1)}, c
}

func newTestPacer() (*pacer, *frozen) {
	clock := &frozen{}
	return newPacer(10, clock, sleep.NewPortable(sleep.NewClock())), clock
}

func ended(s *stream) bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

func TestPacerWritesEachEventWhenItIsDue(t *testing.T) {
	p, clock := newTestPacer()
	a, onA := paperStream(3)
	b, onB := paperStream(2)
	p.add(a) // due at 10, 20, 30
	clock.now = 4
	p.add(b) // due at 14, 24
	p.take()
	for _, c := range []struct {
		now, next int64
		a, b      int
	}{{9, 10, 0, 0}, {10, 14, 1, 0}, {14, 20, 1, 1}, {29, 30, 2, 2}, {30, math.MaxInt64, 3, 2}} {
		if next := p.release(c.now); next != c.next || onA.writes != c.a || onB.writes != c.b {
			t.Errorf("at %d: next at %d, %d and %d written; want %d, %d and %d", c.now, next, onA.writes, onB.writes, c.next, c.a, c.b)
		}
	}
	if !ended(a) || !ended(b) || onA.ends != 1 || onB.ends != 1 || a.err != nil {
		t.Errorf("%+v, %+v", onA, onB)
	}
}

// TestPacerMakesUpForAStall: due times are absolute.
func TestPacerMakesUpForAStall(t *testing.T) {
	p, _ := newTestPacer()
	s, on := paperStream(5)
	p.add(s)
	p.take()
	if next := p.release(35); next != 40 || on.writes != 3 {
		t.Errorf("at 35: %d written, next at %d", on.writes, next)
	}
}

func TestPacerDropsWhoIsGone(t *testing.T) {
	p, _ := newTestPacer()
	s, on := paperStream(5)
	on.err = errors.New("gone")
	p.add(s)
	p.take()
	if next := p.release(10); next != math.MaxInt64 || !ended(s) || s.err == nil {
		t.Errorf("next at %d, %v", next, s.err)
	}
}

func TestPacerEndsItsStreams(t *testing.T) {
	clock := sleep.NewClock()
	p := newPacer(time.Hour, clock, sleep.New(clock))
	over := make(chan struct{})
	go func() { p.run(); close(over) }()
	s, _ := paperStream(2)
	if !p.add(s) {
		t.Fatal("not taken")
	}
	p.close()
	<-over
	if !ended(s) || !errors.Is(s.err, net.ErrClosed) {
		t.Errorf("%v", s.err)
	}
	if p.add(s) {
		t.Error("taken after the end")
	}
}

func TestPacerDoesNotAllocate(t *testing.T) {
	p, _ := newTestPacer()
	for range 100 {
		s, _ := paperStream(1 << 30)
		p.add(s)
	}
	p.take()
	now := int64(0)
	step := func() {
		now += 10
		p.release(now)
	}
	for range 10 {
		step()
	}
	if n := testing.AllocsPerRun(100, step); n > 0 {
		t.Errorf("%v allocations for 100 events", n)
	}
	if len(p.queue) > 400 {
		t.Errorf("the queue of 100 streams has grown to %d", len(p.queue))
	}
}
