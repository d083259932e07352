package sched

import (
	"math"
	"time"
)

// CostModel tells how long a step takes, from what it computes and what it reads
// (a roofline), and what comes on top:
//
//	compute  = (2 · active parameters · tokens + attention FLOPs) ÷ (peak FLOP/s · efficiency)
//	memory   = (weights + KV of every sequence to the end of its new tokens) ÷ (bandwidth · efficiency)
//	device   = prefill time + launches + all-reduces
//	host     = step overhead + time by sequence
//	duration = max(compute, memory) + device + host
//	       or, with OverlapHost, max(max(compute, memory) + device, host)
//
// each on one of the GPUs that share the model. Of a mixture of experts, tokens
// that choose k of E at random read the share 1 − (1 − k/E)^tokens.
//
// It is a pure function of the step: the same step costs the same on every
// machine, to the nanosecond, because no two floating-point operations are left
// for a compiler to fuse. Compute, memory, device and host are rounded to the
// nearest nanosecond each, halves up, and stop at 2^60 ns (36 years); the
// duration is exact in these.
type CostModel struct {
	// Compute, in nanoseconds.
	perToken, perPair float64
	// Memory, in nanoseconds: the weights every step reads, all experts together,
	// and one token's KV. unread is 1 − k/E.
	weights, experts, unread, perKVToken float64
	// Device, in nanoseconds: a step's launches and all-reduce latencies, and the
	// bytes one token adds to all-reduces.
	fixed, reducePerToken, prefill float64
	// Host, in nanoseconds.
	overhead, perSequence float64
	overlapHost           bool
	frontEnd              time.Duration
}

// StepCost is a step's duration and its parts. Device is GPU time beside the
// roofline, Host the CPU's.
type StepCost struct {
	Duration                      time.Duration
	Compute, Memory, Device, Host time.Duration
}

// NewCostModel refuses a model that is incomplete, heads that the GPUs can't
// share, and figures that are negative or absurd. It does not ask whether the
// model fits the memory: NewCapacity does.
func NewCostModel(h Hardware, m Model, p CostParams) (*CostModel, error) {
	m, err := resolveFor(h, m)
	if err != nil {
		return nil, err
	}
	gpus := h.gpus()
	if err := p.validate(m, gpus); err != nil {
		return nil, err
	}

	// 10^12 FLOPs a second are 10^3 a nanosecond, 10^9 bytes a second are one.
	flopsPerNS := h.PeakTFLOPS * 1e3 * full(p.ComputeEfficiency) * float64(gpus)
	bytesPerNS := h.BandwidthGBps * full(p.MemoryEfficiency)

	c := &CostModel{
		perToken:    2 * float64(m.ActiveParameters) / flopsPerNS,
		perPair:     float64(m.Shape.AttentionFLOPsPerPair()) / flopsPerNS,
		weights:     m.weightBytesPerGPU(gpus) / bytesPerNS,
		perKVToken:  float64(m.kvBytesPerTokenPerGPU(gpus)) / bytesPerNS,
		fixed:       float64(p.LaunchTime * time.Duration(m.Shape.GEMMs())),
		prefill:     float64(p.PrefillTime),
		overhead:    float64(p.StepOverhead),
		perSequence: float64(p.SequenceTime),
		overlapHost: p.OverlapHost,
		frontEnd:    p.FrontEnd,
	}
	if s := m.Shape; s.Experts > 0 {
		all := m
		all.Parameters = s.ExpertParameters()
		c.experts = all.weightBytesPerGPU(gpus) / bytesPerNS
		c.weights -= c.experts
		c.unread = 1 - float64(s.ActiveExperts)/float64(s.Experts)
	}
	if gpus > 1 {
		reduces := 2 * m.Shape.Layers
		c.fixed += float64(p.AllReduceLatency * time.Duration(reduces))
		if p.AllReduceGBps > 0 {
			c.reducePerToken = float64(reduces*m.Shape.Hidden) * activationBytes / p.AllReduceGBps
		}
	}
	return c, nil
}

// activationBytes is the size of one activation: engines compute in bf16 or fp16,
// however the weights are stored.
const activationBytes = 2

// FrontEnd is CostParams.FrontEnd: to be added to each request's TTFT.
func (c *CostModel) FrontEnd() time.Duration { return c.frontEnd }

// Cost of a step. A step without sequences runs nothing and costs nothing. It
// does not allocate.
func (c *CostModel) Cost(s *Step) StepCost {
	if len(s.Seqs) == 0 {
		return StepCost{}
	}
	// Sums are exact: with the limits of Config, pairs stay below 2^62.
	var tokens, kvTokens, pairs int64
	prefill := false
	for i := range s.Seqs {
		q := &s.Seqs[i]
		context, n := int64(q.Context), int64(q.New)
		tokens += n
		kvTokens += context + n
		pairs += n*context + n*(n+1)/2
		prefill = prefill || q.Prefill
	}

	// The conversions to float64 around products keep them from being fused with
	// the sum, which would round differently from machine to machine.
	compute := float64(c.perToken*float64(tokens)) + float64(c.perPair*float64(pairs))
	memory := c.weights + float64(c.perKVToken*float64(kvTokens))
	if c.experts > 0 {
		memory += float64(c.experts * (1 - float64(power(c.unread, tokens))))
	}
	device := c.fixed + float64(c.reducePerToken*float64(tokens))
	if prefill {
		device += c.prefill
	}
	host := c.overhead + float64(c.perSequence*float64(len(s.Seqs)))

	cost := StepCost{
		Compute: nanoseconds(compute),
		Memory:  nanoseconds(memory),
		Device:  nanoseconds(device),
		Host:    nanoseconds(host),
	}
	cost.Duration = max(cost.Compute, cost.Memory) + cost.Device
	if c.overlapHost {
		cost.Duration = max(cost.Duration, cost.Host)
	} else {
		cost.Duration += cost.Host
	}
	return cost
}

// nanoseconds rounds to the nearest one. The bound leaves room to add terms.
func nanoseconds(ns float64) time.Duration {
	return time.Duration(math.Round(min(ns, 1<<60)))
}

// power is base to the n-th, by squaring: math.Pow may differ from machine to
// machine in the last digit.
func power(base float64, n int64) float64 {
	result := 1.0
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			result *= base
		}
		base *= base
	}
	return result
}
