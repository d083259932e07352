package sched

import (
	"fmt"
	"math"
)

// Policy says who is served first, and who loses its blocks first.
type Policy uint8

const (
	// FCFS serves requests in order of arrival, preempted ones before the rest;
	// the most recently admitted one is preempted first.
	FCFS Policy = iota
	// Priority serves the smallest priority number first, then the earliest
	// arrival; the largest number, then the latest arrival, is preempted first.
	Priority
)

// Config is what a Scheduler is built from. Its options are vLLM's, by vLLM's
// names; a profile (see NewConfig) sets the ones that differ between releases.
type Config struct {
	// NumBlocks is how many KV blocks sequences can use (vLLM's null block not
	// counted), BlockSize how many tokens one holds.
	NumBlocks, BlockSize int
	// MaxNumSeqs is how many sequences may run at once, those included that get
	// nothing in a step.
	MaxNumSeqs int
	// MaxNumBatchedTokens is how many tokens one step computes at most: decodes
	// and prefill chunks share it.
	MaxNumBatchedTokens int
	// MaxModelLen is the context: how long prompt and output may be together.
	MaxModelLen int
	Policy      Policy
	// EnablePrefixCaching lets a request use blocks that an earlier one filled
	// with the same tokens.
	EnablePrefixCaching bool
	// EnableChunkedPrefill lets a prompt be spread over several steps. Without it
	// a prompt that exceeds the rest of the budget waits, and whoever is behind
	// it too.
	EnableChunkedPrefill bool
	// LongPrefillTokenThreshold bounds one request's share of a step, in tokens;
	// 0 does not.
	LongPrefillTokenThreshold int
	// ReserveFullISL admits a request only if there are free blocks for all its
	// known tokens (vLLM's scheduler_reserve_full_isl); else its first chunk has
	// to fit. The blocks are taken chunk by chunk either way, and not set aside.
	ReserveFullISL bool
	// AsyncScheduling puts the next step together while one is still computed, so
	// two are in flight, and an output is known one step later.
	AsyncScheduling bool
	// Watermark is the share of all blocks that an admission leaves free, from 0
	// up to, not including, 1. It does not hold while nothing runs.
	Watermark float64
	Rules     Rules
}

// Rules are decisions that vLLM changed from one release to the next without
// an option to choose. NewConfig sets them, but for the last.
type Rules struct {
	// NullBlock says that one block of the cache is taken at start as the null
	// block, as in every vLLM release. It counts for the watermark.
	NullBlock bool
	// PlainBlocksFirst puts freed blocks without a key at the front of the free
	// queue (since 2026-06-16) instead of its end.
	PlainBlocksFirst bool
	// CountFailedLookups counts every prefix lookup in the statistics, also those
	// of a request that then is not admitted (until 2026-07-21).
	CountFailedLookups bool
	// VictimSkipsNext keeps a slip of the priority policy (until 2026-08-06): when
	// a request that got nothing in this step is preempted for one that is behind
	// it, the next one in line is passed over in this step.
	VictimSkipsNext bool
	// FirstTiedLoses preempts, of running requests with the same priority and the
	// same arrival, the first admitted, as every vLLM release does; else the one that
	// is behind the others in the queue's order. With it such requests can push each
	// other out for ever, each before its prompt is computed again.
	FirstTiedLoses bool
}

// The largest values New takes. They keep token counts within int32 and the
// block pool within a few gigabytes.
const (
	maxBlocks    = 1 << 26
	maxBlockSize = 1 << 20
	maxModelLen  = 1 << 30
)

// validate says what no scheduler can work with.
func (c *Config) validate() error {
	for _, v := range []struct {
		name             string
		value, low, high int
	}{
		{"NumBlocks", c.NumBlocks, 1, maxBlocks},
		{"BlockSize", c.BlockSize, 1, maxBlockSize},
		{"MaxNumSeqs", c.MaxNumSeqs, 1, math.MaxInt32},
		{"MaxNumBatchedTokens", c.MaxNumBatchedTokens, 1, math.MaxInt32},
		{"MaxModelLen", c.MaxModelLen, 2, maxModelLen},
		{"LongPrefillTokenThreshold", c.LongPrefillTokenThreshold, 0, math.MaxInt32},
	} {
		if v.value < v.low || v.value > v.high {
			return fmt.Errorf("scheduler: %s is %d, must be %d to %d", v.name, v.value, v.low, v.high)
		}
	}
	switch {
	case c.Policy > Priority:
		return fmt.Errorf("scheduler: Policy is %d, must be FCFS (%d) or Priority (%d)", c.Policy, FCFS, Priority)
	case !(c.Watermark >= 0 && c.Watermark < 1):
		return fmt.Errorf("scheduler: Watermark is %v, must be at least 0 and below 1", c.Watermark)
	case !c.EnableChunkedPrefill && c.MaxNumBatchedTokens < c.MaxModelLen:
		return fmt.Errorf("scheduler: MaxNumBatchedTokens is %d, must be at least MaxModelLen (%d) without chunked prefill: a longer prompt would wait for ever",
			c.MaxNumBatchedTokens, c.MaxModelLen)
	}
	return nil
}

// watermarkBlocks is how many blocks an admission leaves free.
func (c *Config) watermarkBlocks() int {
	total := c.NumBlocks
	if c.Rules.NullBlock {
		total++
	}
	return int(c.Watermark * float64(total))
}
