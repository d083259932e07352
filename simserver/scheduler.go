package simserver

import (
	"fmt"
	"time"

	"llmsim-bench/simserver/config"
	"llmsim-bench/simserver/engine"
	"llmsim-bench/simserver/sched"
)

// Timeline is a scheduler model's engine loop with nothing to do.
type Timeline struct {
	Loop *engine.Loop
	// FrontEnd is how long a request takes to reach the scheduler.
	FrontEnd time.Duration
	// Config is the scheduler's, with every profile and default filled in.
	Config sched.Config

	// Description says all that the timeline depends on beside its events.
	Description string

	shortestStep time.Duration
}

// maxGrace bounds how long a decision waits for a request that is being parsed, by
// the wall clock.
const maxGrace = 2 * time.Millisecond

// grace is well below the shortest step, on a timeline that runs so much faster
// than the wall clock.
func (t *Timeline) grace(timeScale float64) time.Duration {
	return min(t.shortestStep/4, time.Duration(float64(maxGrace)*timeScale))
}

// NewTimeline builds the engine loop of a model whose engine is
// config.EngineScheduler, for its simulation in virtual time. The error names
// the place in the file.
func NewTimeline(m config.Model) (*Timeline, error) {
	if m.Engine != config.EngineScheduler {
		return nil, fmt.Errorf("%s: engine %q has no steps, only %q has", m.Where, m.Engine, config.EngineScheduler)
	}
	t, err := newTimeline(m)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.Where, err)
	}
	return t, nil
}

func newTimeline(m config.Model) (*Timeline, error) {
	hardware, params, err := hardwareOf(&m.Scheduler)
	if err != nil {
		return nil, err
	}
	model, err := modelOf(&m.Scheduler)
	if err != nil {
		return nil, err
	}
	cost, err := sched.NewCostModel(hardware, model, params)
	if err != nil {
		return nil, err
	}
	c, err := schedulerConfig(&m)
	if err != nil {
		return nil, err
	}
	if n := m.Scheduler.KVCache.NumGPUBlocksOverride; n != nil {
		c.NumBlocks = c.Rules.Usable(*n)
	} else {
		capacity, err := sched.NewCapacity(hardware, model, c.BlockSize, m.Scheduler.KVCache.GPUMemoryUtilization)
		if err != nil {
			return nil, err
		}
		c.NumBlocks = c.Rules.Usable(capacity.Blocks)
	}
	scheduler, err := sched.New(c)
	if err != nil {
		return nil, err
	}
	shortest := cost.Cost(&sched.Step{Seqs: []sched.Scheduled{{Context: 1, New: 1, Samples: true}}})
	return &Timeline{
		Loop: engine.NewLoop(scheduler, cost), FrontEnd: cost.FrontEnd(), Config: c,
		Description:  fmt.Sprintf("scheduler %+v, hardware %+v, model %+v, cost %+v", c, hardware, model, params),
		shortestStep: shortest.Duration,
	}, nil
}

// override replaces what the file gives.
func override[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

// hardwareOf resolves the hardware and what steps cost on it.
func hardwareOf(s *config.Scheduler) (sched.Hardware, sched.CostParams, error) {
	h, p := sched.Hardware{TensorParallel: s.TensorParallel}, sched.CostParams{}
	if s.Hardware.Profile != "" {
		var err error
		if h, p, err = sched.HardwareProfile(s.Hardware.Profile, s.TensorParallel); err != nil {
			return h, p, err
		}
	}
	override(&h.MemoryGiB, s.Hardware.MemoryGiB)
	override(&h.ReservedGiB, s.Hardware.ReservedGiB)
	override(&h.BandwidthGBps, s.Hardware.BandwidthGBps)
	override(&h.PeakTFLOPS, s.Hardware.PeakTFLOPS)

	override(&p.ComputeEfficiency, s.Efficiency.Compute)
	override(&p.MemoryEfficiency, s.Efficiency.Memory)
	override(&p.StepOverhead, s.Latency.StepOverhead)
	override(&p.SequenceTime, s.Latency.SequenceTime)
	override(&p.OverlapHost, s.Latency.OverlapHost)
	override(&p.PrefillTime, s.Latency.PrefillTime)
	override(&p.LaunchTime, s.Latency.LaunchTime)
	override(&p.AllReduceLatency, s.Latency.AllReduceLatency)
	override(&p.AllReduceGBps, s.Latency.AllReduceGBps)
	override(&p.FrontEnd, s.Latency.FrontEnd)
	return h, p, nil
}

// modelOf resolves the model.
func modelOf(s *config.Scheduler) (sched.Model, error) {
	var m sched.Model
	if s.ModelProfile != "" {
		var err error
		if m, err = sched.ModelProfile(s.ModelProfile); err != nil {
			return m, err
		}
	}
	override(&m.Parameters, s.Weights.Parameters)
	override(&m.ActiveParameters, s.Weights.ActiveParameters)
	override(&m.BytesPerParameter, s.Weights.BytesPerParameter)
	override(&m.KVBytesPerToken, s.KVCache.BytesPerToken)

	shape := &m.Shape
	override(&shape.Layers, s.Shape.Layers)
	override(&shape.Hidden, s.Shape.Hidden)
	override(&shape.Heads, s.Shape.Heads)
	override(&shape.KVHeads, s.Shape.KVHeads)
	override(&shape.HeadSize, s.Shape.HeadSize)
	override(&shape.Intermediate, s.Shape.Intermediate)
	override(&shape.Vocabulary, s.Shape.Vocabulary)
	override(&shape.Experts, s.Shape.Experts)
	override(&shape.ActiveExperts, s.Shape.ActiveExperts)
	override(&shape.TiedEmbeddings, s.Shape.TiedEmbeddings)
	override(&shape.QKVBias, s.Shape.QKVBias)
	override(&shape.QKNorm, s.Shape.QKNorm)
	override(&shape.BytesPerParameter, s.Shape.BytesPerParameter)
	override(&shape.BytesPerKVElement, s.Shape.BytesPerKVElement)
	return m, nil
}

// schedulerConfig resolves the scheduler's options, but for the number of blocks.
func schedulerConfig(m *config.Model) (sched.Config, error) {
	o := &m.Scheduler.Options
	c, err := sched.NewConfig(o.Profile)
	if err != nil {
		return c, err
	}
	c.MaxModelLen = m.ContextLength
	c.BlockSize = m.Scheduler.KVCache.BlockSize
	if o.Policy == config.PolicyPriority {
		c.Policy = sched.Priority
	}
	override(&c.Watermark, m.Scheduler.KVCache.Watermark)
	override(&c.MaxNumBatchedTokens, o.MaxBatchTokens)
	override(&c.MaxNumSeqs, o.MaxNumSequences)
	override(&c.EnablePrefixCaching, o.EnablePrefixCaching)
	override(&c.EnableChunkedPrefill, o.EnableChunkedPrefill)
	override(&c.LongPrefillTokenThreshold, o.LongPrefillTokenThreshold)
	override(&c.ReserveFullISL, o.ReserveFullISL)
	override(&c.AsyncScheduling, o.AsyncScheduling)
	return c, nil
}
