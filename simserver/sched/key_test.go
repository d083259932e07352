package sched

import "testing"

// TestKeys: tokens that differ little, as those of a simulator do, get keys that
// differ, and that fill the slots of an index evenly.
func TestKeys(t *testing.T) {
	const side, slots = 512, 1 << 12
	seen := map[blockKey]bool{}
	var load [slots]int
	for a := range uint32(side) {
		for b := range uint32(side) {
			key := chainSeed.add([]uint32{a, b, 0, 0}).key()
			if seen[key] {
				t.Fatalf("tokens %d, %d have the key of others", a, b)
			}
			seen[key] = true
			load[key%slots]++
		}
	}
	mean := side * side / slots
	for slot, n := range load {
		if n > 2*mean { // 8 standard deviations above
			t.Errorf("slot %d is home to %d keys, the mean is %d", slot, n, mean)
		}
	}
}

// TestKeysChain: a key stands for all tokens before its block too, however they came.
func TestKeysChain(t *testing.T) {
	tokens := []uint32{7, 0, 7, 1, 9, 9}
	whole := chainSeed.add(tokens).key()
	if pieces := chainSeed.add(tokens[:1]).add(tokens[1:4]).add(tokens[4:]).key(); pieces != whole {
		t.Error("tokens added in pieces have another key")
	}
	if block := chainSeed.add(tokens[4:]).key(); block == whole {
		t.Error("a block has one key whatever is before it")
	}
	if swapped := chainSeed.add([]uint32{0, 7, 7, 1, 9, 9}).key(); swapped == whole {
		t.Error("the order of tokens makes no difference")
	}
}
