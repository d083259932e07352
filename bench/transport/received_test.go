package transport

import (
	"testing"

	"pgregory.net/rapid"
)

// Against a socket that is a list of arrivals: what a read takes came after
// NotBefore, and the reader waited exactly if it found nothing at first.
func TestLookoutKnowsSinceWhen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var now int64
		var unread []int64 // when each byte came
		arrive := func() {
			now++
			unread = append(unread, now)
		}
		maybeArrive := func(label string) {
			now++
			for range rapid.IntRange(0, 3).Draw(t, label) {
				arrive()
			}
			now++
		}
		var l lookout
		for range rapid.IntRange(1, 20).Draw(t, "reads") {
			maybeArrive("before the read")
			size := rapid.IntRange(1, 4).Draw(t, "buffer")
			l.begin()
			waited := false
			for {
				now++
				l.try(now)
				maybeArrive("before the attempt's work")
				if len(unread) > 0 {
					break
				}
				l.nothing()
				waited = true
				now++
				arrive()
			}
			n := min(size, len(unread))
			oldest := unread[0]
			unread = unread[n:]
			maybeArrive("before the attempt's end")
			notBefore := l.something(n == size)
			if notBefore >= oldest || l.waited != waited {
				t.Fatalf("bytes of %d came after %d; waited %v, want %v", oldest, notBefore, l.waited, waited)
			}
		}
	})
}

// A short read has emptied the socket, as of its attempt; a full one has not.
func TestLookoutIsAsNarrowAsKnown(t *testing.T) {
	l := lookout{empty: 1}
	read := func(at int64, full bool) int64 {
		l.begin()
		l.try(at)
		return l.something(full)
	}
	for i, want := range []struct {
		at   int64
		full bool
		not  int64
	}{{10, true, 1}, {20, true, 1}, {30, false, 1}, {40, false, 30}, {50, true, 40}} {
		if got := read(want.at, want.full); got != want.not {
			t.Errorf("read %d: not before %d, want %d", i, got, want.not)
		}
	}
	l.begin()
	l.try(60)
	l.nothing()
	l.try(70)
	if got := l.something(true); got != 60 || !l.waited {
		t.Errorf("after a wait: not before %d, waited %v", got, l.waited)
	}
}
