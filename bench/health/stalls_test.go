package health

import (
	"testing"
	"time"
)

func TestTheWorstStallOfATime(t *testing.T) {
	const ms = int64(time.Millisecond)
	var s stalls
	s.woke(10*ms, 11*ms, 20*ms)   // rounding
	s.woke(20*ms, 25*ms, 30*ms)   // 5 ms
	s.woke(30*ms, 130*ms, 140*ms) // 100 ms
	for _, tt := range []struct {
		from, to, now int64
		want          time.Duration
	}{
		{0, 19, 135, 0},
		{0, 20, 135, 5},
		{25, 29, 135, 5},
		{26, 29, 135, 0},
		{22, 31, 135, 100},
		{129, 135, 135, 100},
		{131, 139, 139, 0},
		{131, 170, 170, 30}, // the wake-up of 140 is still to come
		{131, 139, 170, 0},
		{150, 151, 170, 30},
	} {
		if got := s.worst(tt.from*ms, tt.to*ms, tt.now*ms); got != tt.want*time.Millisecond {
			t.Errorf("%d to %d ms, looked at at %d: %v, want %d ms", tt.from, tt.to, tt.now, got, tt.want)
		}
	}
}

func TestOnlyTheLatestStallsAreRemembered(t *testing.T) {
	const ms = int64(time.Millisecond)
	var s stalls
	for i := range int64(maxStalls + 10) {
		s.woke(10*i*ms, (10*i+3)*ms, 0)
	}
	if len(s.all) != maxStalls {
		t.Fatalf("%d are kept, want %d", len(s.all), maxStalls)
	}
	last := 10 * int64(maxStalls+9) * ms
	if s.worst(0, 50*ms, last) != 0 || s.worst(100*ms, 100*ms, last) == 0 || s.worst(last, last, last) == 0 {
		t.Error("the first ten should be forgotten, and no others")
	}
}
