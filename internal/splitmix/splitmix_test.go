package splitmix

import "testing"

// The first numbers of SplitMix64 from the state 0.
func TestMix(t *testing.T) {
	var state uint64
	for i, want := range []uint64{0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4, 0x06c45d188009454f} {
		state += Gamma
		if got := Mix(state); got != want {
			t.Errorf("number %d is %#x, want %#x", i, got, want)
		}
	}
}
