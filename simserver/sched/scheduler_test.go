package sched

import (
	"fmt"
	"strings"
	"testing"
)

// TestDecodeAllocatesNothing holds for a batch whose sequences were once that long.
func TestDecodeAllocatesNothing(t *testing.T) {
	for _, async := range []bool{false, true} {
		for _, caching := range []bool{false, true} {
			d := newDecodeBatch(t, 8, Config{AsyncScheduling: async, EnablePrefixCaching: caching})
			steps := benchSteps - 1 // AllocsPerRun runs once more, to warm up
			if n := testing.AllocsPerRun(steps, func() { d.step() }); n != 0 {
				t.Errorf("async=%v, cache=%v: %v allocations a step, want 0", async, caching, n)
			}
		}
	}
}

// TestSlotOfAnEndedRequest: a slot is used again at once, but not by the same ID; and
// the output in flight of the ended request is not taken for the new one's.
func TestSlotOfAnEndedRequest(t *testing.T) {
	s, err := New(Config{
		NumBlocks: 8, BlockSize: 4, MaxNumSeqs: 1, MaxNumBatchedTokens: 32, MaxModelLen: 32,
		EnableChunkedPrefill: true, AsyncScheduling: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	request := Request{Prompt: []uint32{1, 2, 3}, Output: []uint32{4, 5, 6}, MaxTokens: 3}
	first, err := s.Add(request)
	if err != nil {
		t.Fatal(err)
	}
	s.Schedule()
	if !s.Abort(first) {
		t.Fatal("the first request had ended")
	}
	second, err := s.Add(request)
	if err != nil {
		t.Fatal(err)
	}
	if second == first || second.Slot() != first.Slot() {
		t.Fatalf("ids %v and %v, want two of one slot", first, second)
	}
	s.Schedule()
	if out := s.Complete(); len(out) != 0 {
		t.Errorf("the aborted request's step yields %+v", out)
	}
	if s.Abort(first) || s.AppendBlockTable(nil, first) != nil {
		t.Error("the first request's id stands for the second")
	}
	if out := s.Complete(); len(out) != 1 || out[0] != (Output{ID: second}) {
		t.Errorf("outputs are %+v, want number 0 of %v", out, second)
	}
	if s.Abort(ID{}) || s.Abort(ID{slot: 99, generation: 1}) {
		t.Error("an id of nobody was aborted")
	}
}

// TestStepsInFlight: a driver that loses count is told so.
func TestStepsInFlight(t *testing.T) {
	for limit, async := range []bool{false, true} {
		s, err := New(Config{
			NumBlocks: 8, BlockSize: 4, MaxNumSeqs: 1, MaxNumBatchedTokens: 32, MaxModelLen: 32,
			EnableChunkedPrefill: true, AsyncScheduling: async,
		})
		if err != nil {
			t.Fatal(err)
		}
		wantPanic(t, "no step in flight", func() { s.Complete() })
		for range limit + 1 {
			s.Schedule()
		}
		wantPanic(t, fmt.Sprintf("%d of %d steps in flight", limit+1, limit+1), func() { s.Schedule() })
	}
}

func wantPanic(t *testing.T, say string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if got := fmt.Sprint(recover()); !strings.Contains(got, say) {
			t.Errorf("panic is %q, want it to say %q", got, say)
		}
	}()
	f()
}

// TestUsableBlocks: vLLM keeps one block of the cache for itself, the article none.
func TestUsableBlocks(t *testing.T) {
	for profile, want := range map[string]int{"vllm-0.16": 99, "vllm-0.23": 99, "vllm-2026-08": 99, "article": 100} {
		c, err := NewConfig(profile)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Rules.Usable(100); got != want {
			t.Errorf("%s can use %d of 100 blocks, want %d", profile, got, want)
		}
	}
}

// TestWatermarkBlocks: the share is of all blocks, the null block included, and is
// rounded down.
func TestWatermarkBlocks(t *testing.T) {
	for _, test := range []struct {
		watermark float64
		blocks    int
		null      bool
		want      int
	}{
		{0, 100, true, 0},
		{0.01, 7609, false, 76},
		{0.25, 79, true, 20},
		{0.25, 79, false, 19},
	} {
		c := Config{Watermark: test.watermark, NumBlocks: test.blocks, Rules: Rules{NullBlock: test.null}}
		if got := c.watermarkBlocks(); got != test.want {
			t.Errorf("watermark %v of %d blocks, null block %v: %d, want %d", test.watermark, test.blocks, test.null, got, test.want)
		}
	}
}
