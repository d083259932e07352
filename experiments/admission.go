package experiments

import (
	"math"
	"time"

	"llmsim-bench/bench"
	"llmsim-bench/bench/workload"
)

// smallCache is the base model with a cache of 1,200 blocks instead of 7,609.
var smallCache = changed("kv_cache.num_gpu_blocks_override", "1200")

const (
	smallCacheBlocks = 1200
	longPrompt       = 2000 // tokens, for a small cache
)

// admission is E4.
func admission() Experiment {
	const users, output = 64, 64
	const name = "64 users"
	// An admission leaves the watermark of 1 % free; those that run have grown by
	// then, but between two of a closed loop's prefills there is a moment when none
	// has.
	running := math.Floor((smallCacheBlocks - 0.01*smallCacheBlocks) / blocksOf(longPrompt))
	return Experiment{
		ID: "E4", Title: "KV admission",
		Question: "A closed loop of 64 users with prompts of 2,000 tokens on a cache of 1,200 blocks: what decides how many run?",
		Meaning: "The cache does, not the limit of 64 sequences: 9 run. Time to first token is almost all queueing, which no faster GPU shortens. " +
			"An autoscaler has to watch the queue and the cache; the batch looks small.",
		Cases: []Case{{
			Name: name, Model: smallCache, Load: bench.Users(users),
			Shape:  workload.Shape{Prompt: workload.Fixed(longPrompt), Output: workload.Fixed(output)},
			Warmup: 6 * time.Second, Duration: 10 * time.Second,
		}},
		Expect: []Expectation{
			{
				Case: name, Quantity: "batch_max", Interval: equal(), Article: "9",
				Formula: byFormula(running, "(%d blocks − 1 %%) ÷ %g blocks a prompt, whole ones", smallCacheBlocks, blocksOf(longPrompt)),
			},
			{Case: name, Quantity: "batch_p50", Interval: equal()},
			{Case: name, Quantity: "queue_p50", Interval: spread(), Article: "4,460 ms"},
			{Case: name, Quantity: "ttft_p50", Interval: spread(), Article: "4,570 ms"},
			{Case: name, Quantity: "tpot_p50", Interval: spread()},
			{Case: name, Quantity: "kv_use_max", Interval: spread()},
			{Case: name, Quantity: "rate", Interval: spread()},
			{Case: name, Quantity: "preemptions", Interval: equal(), Formula: byFormula(0, "9 × %g blocks fit to their last token", blocksOf(longPrompt+output))},
		},
		Plot: Plot{Quantity: "queue_p50", Beside: []string{"ttft_p50"}, Axis: "queueing, and time to first token"},
	}
}
