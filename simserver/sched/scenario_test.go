package sched

import (
	"encoding/json"
	"math"
	"testing"
)

// scenario is the input of one golden trace.
type scenario struct {
	Name     string            `json:"name"`
	Note     string            `json:"note"`
	Config   scenarioConfig    `json:"config"`
	Requests []scenarioRequest `json:"requests"`
	Aborts   []struct {
		Step  int    `json:"step"`
		ID    string `json:"id"`
		Phase string `json:"phase"` // "during": between Schedule and Complete
	} `json:"aborts"`
	Resets []int `json:"reset_prefix_cache_steps"`
}

type scenarioConfig struct {
	NumBlocks                 int     `json:"num_blocks"`
	BlockSize                 int     `json:"block_size"`
	MaxNumSeqs                int     `json:"max_num_seqs"`
	MaxNumBatchedTokens       int     `json:"max_num_batched_tokens"`
	MaxModelLen               int     `json:"max_model_len"`
	Policy                    string  `json:"policy"`
	EnablePrefixCaching       bool    `json:"enable_prefix_caching"`
	EnableChunkedPrefill      bool    `json:"enable_chunked_prefill"`
	LongPrefillTokenThreshold int     `json:"long_prefill_token_threshold"`
	ReserveFullISL            bool    `json:"reserve_full_isl"`
	AsyncScheduling           bool    `json:"async_scheduling"`
	Watermark                 float64 `json:"watermark"`
}

// applyTo sets the scenario's options in c, as far as the release knows them.
func (s *scenarioConfig) applyTo(c Config, gate, watermark bool) Config {
	c.NumBlocks, c.BlockSize = s.NumBlocks, s.BlockSize
	c.MaxNumSeqs, c.MaxNumBatchedTokens, c.MaxModelLen = s.MaxNumSeqs, s.MaxNumBatchedTokens, s.MaxModelLen
	c.Policy = map[string]Policy{"fcfs": FCFS, "priority": Priority}[s.Policy]
	c.EnablePrefixCaching, c.EnableChunkedPrefill = s.EnablePrefixCaching, s.EnableChunkedPrefill
	c.LongPrefillTokenThreshold = s.LongPrefillTokenThreshold
	c.AsyncScheduling = s.AsyncScheduling
	c.ReserveFullISL = s.ReserveFullISL && gate
	if watermark {
		c.Watermark = s.Watermark
	}
	return c
}

type scenarioRequest struct {
	ID          string   `json:"id"`
	ArrivalStep int      `json:"arrival_step"`
	ArrivalTime float64  `json:"arrival_time"`
	Prompt      [][2]int `json:"prompt"` // pieces of segments: segment, length
	MaxTokens   int      `json:"max_tokens"`
	Priority    int      `json:"priority"`
	IgnoreEOS   *bool    `json:"ignore_eos"`
	StopAt      int      `json:"stop_at"`
	MinTokens   int      `json:"min_tokens"`
	OutSegment  *int     `json:"out_segment"`
}

// The token ids of the scenarios: segments, then outputs of nobody else, then the
// stop token.
const (
	segmentTokens = 100_000
	ownTokens     = 2_000_000_000
	stopToken     = math.MaxUint32
)

// request is the scheduler's view of the n-th request.
func (r *scenarioRequest) request(n, maxModelLen int) Request {
	out := Request{
		Name: r.ID, Priority: r.Priority,
		ArrivalNS: int64(math.Float64bits(r.ArrivalTime)), // in the same order, and exact
	}
	for _, piece := range r.Prompt {
		for i := range piece[1] {
			out.Prompt = append(out.Prompt, uint32(piece[0]*segmentTokens+i))
		}
	}
	out.MaxTokens = min(r.MaxTokens, maxModelLen-len(out.Prompt))
	length := out.MaxTokens
	if r.IgnoreEOS != nil && !*r.IgnoreEOS && r.StopAt > r.MinTokens && r.StopAt <= length {
		length, out.Stops = r.StopAt, true
	}
	first := ownTokens + n*segmentTokens
	if r.OutSegment != nil {
		first = *r.OutSegment * segmentTokens
	}
	for i := range length {
		out.Output = append(out.Output, uint32(first+i))
	}
	if out.Stops {
		out.Output[length-1] = stopToken
	}
	return out
}

func readScenarios(t *testing.T, path string) (all []scenario) {
	readLines(t, path, func(line []byte) {
		var s scenario
		if err := json.Unmarshal(line, &s); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all = append(all, s)
	})
	if len(all) == 0 {
		t.Fatalf("%s: no scenario", path)
	}
	return all
}
