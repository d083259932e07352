package transport

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// clocks are two clocks on which looking takes time.
type clocks struct {
	mono, ahead int64 // the time of day is mono + ahead
	look        int64
	tedious     []int64 // what the next looks take instead
	steps       int64
}

func (c *clocks) pass() {
	took := c.look
	if len(c.tedious) > 0 {
		took, c.tedious = c.tedious[0], c.tedious[1:]
	}
	c.mono += took
}
func (c *clocks) now() int64  { c.pass(); return c.mono }
func (c *clocks) wall() int64 { c.pass(); return c.mono + c.ahead }

func (c *clocks) set(by int64) { c.ahead, c.steps = c.ahead+by, c.steps+1 }

func (c *clocks) stamps() *stamps { return &stamps{now: c.now, wall: c.wall} }

const ms, second = int64(1e6), int64(1e9)

func TestStepsAreSeenBothWays(t *testing.T) {
	for _, by := range []int64{ms, -ms, 3600 * second, -3600 * second, 50 * 365 * 86400 * second} {
		c := &clocks{mono: 5 * second, ahead: 1_700_000_000 * second, look: 50}
		s := c.stamps()
		s.begin()
		arrived := c.mono + 10_000
		stamp := arrived + c.ahead
		c.mono += 100_000
		c.set(by)
		came, kernel := s.place(stamp, arrived-5_000, false)
		if kernel || came.At != came.Read || s.watch.steps != 1 {
			t.Errorf("a step of %d: %+v, by the kernel %v, %d steps", by, came, kernel, s.watch.steps)
		}
		arrived = c.mono + 10_000
		stamp = arrived + c.ahead
		c.mono += 100_000
		came, kernel = s.place(stamp, arrived-5_000, false)
		if !kernel || came.At < arrived || came.At > arrived+c.look || s.watch.steps != 1 {
			t.Errorf("after a step of %d: %+v, want At %d; by the kernel %v, %d steps", by, came, arrived, kernel, s.watch.steps)
		}
	}
}

// What another connection's read saw counts for bytes that came before it.
func TestStepSeenByAnotherRead(t *testing.T) {
	c := &clocks{mono: 5 * second, look: 50}
	s := c.stamps()
	s.begin()
	arrived := c.mono + 10_000
	stamp := arrived + c.ahead
	c.mono += 100_000
	c.set(second)
	s.begin()
	if came, kernel := s.place(stamp, arrived-5_000, false); kernel || came.At != came.Read {
		t.Errorf("%+v, by the kernel %v", came, kernel)
	}
}

func TestSlewIsNoStep(t *testing.T) {
	for _, ppm := range []int64{-499, 499} {
		c := &clocks{look: 50}
		s := c.stamps()
		for range 1000 {
			s.begin()
			c.mono += second
			c.ahead += ppm * 1000
		}
		if s.watch.steps != 0 {
			t.Errorf("%d ppm: %d steps", ppm, s.watch.steps)
		}
	}
}

// A reader that loses its processor in between reads again, and even if it never
// gets a tight reading takes that for no step; nor does it hide one.
func TestTediousReadings(t *testing.T) {
	c := &clocks{look: 50, tedious: []int64{50, 50, 30 * ms}}
	if r := readClocks(c.now, c.wall, c.now()); r.after-r.before != 100 {
		t.Errorf("the tight reading was not taken: %+v", r)
	}
	s := c.stamps()
	s.begin()
	for range 100 {
		for range 1 + 2*maxReadings {
			c.tedious = append(c.tedious, 30*ms)
		}
		s.begin()
	}
	if s.watch.steps != 0 || len(c.tedious) != 0 {
		t.Errorf("%d steps, %d looks left", s.watch.steps, len(c.tedious))
	}
	c.set(20 * ms)
	if s.begin(); s.watch.steps != 1 {
		t.Errorf("%d steps, want 1", s.watch.steps)
	}
}

func TestReadingsOutOfOrder(t *testing.T) {
	var w stepWatch
	at := func(now, ahead int64) reading { return reading{before: now, real: now + 1 + ahead, after: now + 2} }
	for i, tt := range []struct {
		r         reading
		notBefore int64
		trusted   bool
		steps     int64
	}{
		{at(100, 0), 0, true, 0},
		{at(200, second), 150, false, 1},
		{at(150, 0), 120, false, 1}, // taken before the step, told after it
		{at(300, second), 250, true, 1},
		{at(250, second), 240, true, 1},
	} {
		if got := w.trusts(tt.r, tt.notBefore); got != tt.trusted || w.steps != tt.steps {
			t.Errorf("reading %d: trusted %v, %d steps; want %v, %d", i, got, w.steps, tt.trusted, tt.steps)
		}
	}
}

// Whatever the clocks do, NotBefore ≤ At ≤ Read, and At is close to the truth or
// is Read. Without steps none is seen.
func TestPlacesStampsOnAnyClocks(t *testing.T) {
	type arrival struct{ at, stamp, notBefore int64 }
	rapid.Check(t, func(t *rapid.T) {
		c := &clocks{mono: 1000, ahead: rapid.Int64Range(-second, 2e18).Draw(t, "ahead"), look: rapid.Int64Range(0, 1000).Draw(t, "look")}
		s := c.stamps()
		s.begin()
		var unread []arrival
		slewed := int64(0)
		unseen := false // a step that a reading must find before one back hides it
		for range rapid.IntRange(1, 40).Draw(t, "events") {
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0:
				took := rapid.Int64Range(0, second).Draw(t, "took")
				slew := rapid.Int64Range(-took/maxSlew, took/maxSlew).Draw(t, "slew")
				c.mono, c.ahead, slewed = c.mono+took, c.ahead+slew, slewed+max(slew, -slew)
			case 1:
				if unseen {
					s.begin()
				}
				unseen = true
				by := rapid.Int64Range(60*second, 3600*second).Draw(t, "step")
				if rapid.Bool().Draw(t, "back") {
					by = -by
				}
				c.set(by)
			case 2:
				notBefore := c.mono
				c.mono += rapid.Int64Range(0, second).Draw(t, "until it came")
				unread = append(unread, arrival{c.mono, c.mono + c.ahead, notBefore})
			default:
				if len(unread) == 0 {
					continue
				}
				a := unread[0]
				unread = unread[1:]
				came, kernel := s.place(a.stamp, a.notBefore, false)
				unseen = false
				if came.NotBefore != a.notBefore || came.At < came.NotBefore || came.Read < came.At {
					t.Fatalf("%+v", came)
				}
				if off := came.At - a.at; kernel && max(off, -off) > slewed+4*c.look {
					t.Fatalf("came at %d, placed at %d", a.at, came.At)
				} else if !kernel && (came.At != came.Read || c.steps == 0) {
					t.Fatalf("%+v after %d steps", came, c.steps)
				}
			}
		}
		if s.watch.steps > c.steps {
			t.Fatalf("%d steps seen of %d", s.watch.steps, c.steps)
		}
	})
}

func TestParseTimestamps(t *testing.T) {
	for _, mode := range []Timestamps{TimestampsAuto, TimestampsKernel, TimestampsUser} {
		if got, err := ParseTimestamps(mode.String()); got != mode || err != nil {
			t.Errorf("%v: %v, %v", mode, got, err)
		}
	}
	if _, err := ParseTimestamps("Kernel"); err == nil || fmt.Sprint(Timestamps(9)) != "Timestamps(9)" {
		t.Errorf("%v, %v", err, Timestamps(9))
	}
}
