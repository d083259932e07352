package sched

import (
	"fmt"
	"testing"
)

// decodeBatch is a scheduler whose running sequences all decode: prompts of 512
// tokens, answers of 2,048, evenly spread over their lengths and over the blocks'
// ends, so that every step finds the same mix.
type decodeBatch struct {
	s      *Scheduler
	prompt []uint32
	output []uint32
	ids    []ID
	// left is how many steps can run before the first sequence ends.
	left int
}

const (
	benchPrompt = 512
	benchOutput = 2048
	benchSteps  = 1024 // of one batch, before it is set up anew
)

func newDecodeBatch(tb testing.TB, batch int, c Config) *decodeBatch {
	c.BlockSize, c.MaxModelLen = 16, benchPrompt+benchOutput
	c.NumBlocks = batch * c.MaxModelLen / c.BlockSize
	c.MaxNumSeqs, c.MaxNumBatchedTokens = batch, 1<<20
	c.EnableChunkedPrefill, c.ReserveFullISL = true, true
	s, err := New(c)
	if err != nil {
		tb.Fatal(err)
	}
	d := &decodeBatch{s: s, prompt: make([]uint32, benchPrompt), output: make([]uint32, benchOutput), ids: make([]ID, batch)}
	for i := range d.output {
		d.output[i] = uint32(i)
	}
	d.refill(tb)
	// Once through, so that every slice has its room.
	for d.left > 0 {
		d.step()
	}
	d.refill(tb)
	return d
}

// refill ends all sequences and starts as many, to decode for benchSteps.
func (d *decodeBatch) refill(tb testing.TB) {
	for d.s.InFlight() > 0 {
		d.s.Complete()
	}
	for i := range d.ids {
		d.s.Abort(d.ids[i])
		d.prompt[0] = uint32(i) // prompts have no prefix in common
		prompt := d.prompt[:benchPrompt-i%16]
		id, err := d.s.Add(Request{Prompt: prompt, Output: d.output, MaxTokens: benchOutput})
		if err != nil {
			tb.Fatal(err)
		}
		d.ids[i] = id
	}
	d.s.Schedule()
	d.left = benchSteps
	if d.s.MaxInFlight() == 1 {
		d.s.Complete()
	}
}

// step computes one token of every sequence.
func (d *decodeBatch) step() (tokens int) {
	d.left--
	d.s.Schedule()
	return len(d.s.Complete())
}

// BenchmarkDecode is Schedule and Complete of a saturated decode batch.
func BenchmarkDecode(b *testing.B) {
	for _, batch := range []int{64, 256} {
		for _, async := range []bool{false, true} {
			for _, caching := range []bool{false, true} {
				name := fmt.Sprintf("batch=%d/async=%t/cache=%t", batch, async, caching)
				b.Run(name, func(b *testing.B) {
					benchmarkDecode(b, batch, Config{AsyncScheduling: async, EnablePrefixCaching: caching})
				})
			}
		}
	}
}

func benchmarkDecode(b *testing.B, batch int, c Config) {
	d := newDecodeBatch(b, batch, c)
	tokens := 0
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		if d.left == 0 {
			b.StopTimer()
			d.refill(b)
			b.StartTimer()
		}
		tokens += d.step()
	}
	if tokens != b.N*batch {
		b.Fatalf("%d tokens in %d steps, want %d each", tokens, b.N, batch)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(tokens), "ns/seq")
}

// BenchmarkTurnover is the whole life of requests: 256 places, prompts of 512 tokens
// of which half are shared, answers of 64, each one that ends followed by another.
func BenchmarkTurnover(b *testing.B) {
	for _, caching := range []bool{false, true} {
		b.Run(fmt.Sprintf("cache=%t", caching), func(b *testing.B) { benchmarkTurnover(b, caching) })
	}
}

func benchmarkTurnover(b *testing.B, caching bool) {
	const places, prompt, answer = 256, 512, 64
	s, err := New(Config{
		NumBlocks: 10_000, BlockSize: 16, MaxNumSeqs: places, MaxNumBatchedTokens: 8192, MaxModelLen: 1024,
		EnableChunkedPrefill: true, ReserveFullISL: true, EnablePrefixCaching: caching,
	})
	if err != nil {
		b.Fatal(err)
	}
	request := Request{Prompt: make([]uint32, prompt), Output: make([]uint32, answer), MaxTokens: answer}
	requests, tokens := 0, 0
	add := func() {
		requests++
		for i := prompt / 2; i < prompt; i++ {
			request.Prompt[i] = uint32(requests)
		}
		if _, err := s.Add(request); err != nil {
			b.Fatal(err)
		}
	}
	run := func(until int) {
		for ended := 0; ended < until; {
			s.Schedule()
			for _, out := range s.Complete() {
				tokens++
				if out.Finish != Unfinished {
					ended++
					add()
				}
			}
		}
	}
	for range places {
		add()
	}
	run(4 * places) // so that every slice has its room
	requests, tokens = 0, 0
	b.ReportAllocs()
	b.ResetTimer()
	run(b.N)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(tokens), "ns/token")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(requests), "ns/request")
}

// BenchmarkDecodeBareLoop walks over the same slices and decides nothing: it
// advances each sequence, lists it in the step, and lists its output.
func BenchmarkDecodeBareLoop(b *testing.B) {
	for _, batch := range []int{64, 256} {
		b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) {
			s := newDecodeBatch(b, batch, Config{}).s
			step := &s.steps[0]
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				step.Seqs = step.Seqs[:0]
				for _, q := range s.running {
					step.Seqs = append(step.Seqs, Scheduled{})
					e := &step.Seqs[len(step.Seqs)-1]
					e.ID, e.Context, e.New = q.id, q.computed, 1
					q.computed++
				}
				s.outputs = s.outputs[:0]
				for i := range step.Seqs {
					q := s.seqs.bySlot[step.Seqs[i].ID.slot]
					q.known++
					s.outputs = append(s.outputs, Output{})
					out := &s.outputs[len(s.outputs)-1]
					out.ID, out.Index = q.id, q.known
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*batch), "ns/seq")
		})
	}
}
