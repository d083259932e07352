package sched

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestProperties drives schedulers of any configuration with any load, and checks
// after every call what must hold at all times.
func TestProperties(t *testing.T) {
	var saw sightings
	all := true // unless -run picks some
	for _, profile := range ConfigProfiles() {
		for _, policy := range []Policy{FCFS, Priority} {
			for _, async := range []bool{false, true} {
				ran := false
				t.Run(fmt.Sprintf("%s/policy=%d/async=%v", profile, policy, async), func(t *testing.T) {
					ran = true
					rapid.Check(t, func(t *rapid.T) { checkProperties(t, profile, policy, async, &saw) })
				})
				all = all && ran
			}
		}
	}
	t.Logf("over all runs: %+v", saw)
	if all && (saw.preempted == 0 || saw.resumed == 0 || saw.cached == 0 || saw.finishedWaiting == 0) {
		t.Error("the load is too light to test anything")
	}
}

func checkProperties(t *rapid.T, profile string, policy Policy, async bool, saw *sightings) {
	m := newModel(t, profile, policy, async, saw)
	t.Repeat(map[string]func(*rapid.T){
		"add": m.add,
		"burst": func(t *rapid.T) {
			for range 6 {
				m.add(t)
			}
		},
		"abort": m.abort,
		"reset": func(*rapid.T) { m.reset() },
		"turn":  func(*rapid.T) { m.turn() },
		"turns": func(*rapid.T) {
			for range 8 {
				m.turn()
			}
		},
		"": func(*rapid.T) { m.check() },
	})
	m.drain()
}

// sightings counts what happened over all runs, to know that the load is worth it.
type sightings struct {
	steps, preempted, resumed, cached int
	finishedWaiting                   int // their last output came after they were preempted
}

// model is a scheduler with what is known of its requests.
type model struct {
	t      *rapid.T
	s      *Scheduler
	config Config
	alive  map[ID]*modelRequest
	added  int
	// lastAdmitted is the place in the order of Add of the last one admitted for the
	// first time.
	lastAdmitted int
	// contents says which tokens a key stands for: a block's, and all before it.
	contents map[blockKey][]uint32
	saw      *sightings
}

type modelRequest struct {
	Request
	place   int
	outputs int
}

func newModel(t *rapid.T, profile string, policy Policy, async bool, saw *sightings) *model {
	c, err := NewConfig(profile)
	if err != nil {
		t.Fatal(err)
	}
	d := draw(t, "config")
	c.NumBlocks = 1 + d.IntN(24)
	c.BlockSize = 1 + d.IntN(5)
	c.MaxNumSeqs = 1 + d.IntN(8)
	c.MaxModelLen = 2 + d.IntN(60)
	c.MaxNumBatchedTokens = 1 + d.IntN(30)
	c.EnableChunkedPrefill = d.IntN(4) > 0
	if !c.EnableChunkedPrefill {
		c.MaxNumBatchedTokens += c.MaxModelLen
	}
	if d.IntN(2) == 0 {
		c.LongPrefillTokenThreshold = 1 + d.IntN(8)
	}
	c.Policy, c.AsyncScheduling = policy, async
	c.EnablePrefixCaching = d.IntN(2) == 0
	c.ReserveFullISL = d.IntN(2) == 0
	if d.IntN(3) == 0 {
		c.Watermark = d.Float64()
	}
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return &model{t: t, s: s, config: c, alive: map[ID]*modelRequest{}, lastAdmitted: -1, contents: map[blockKey][]uint32{}, saw: saw}
}

// draw makes a generator of evenly spread numbers; rapid's own are mostly small,
// and small loads never run out of anything.
func draw(t *rapid.T, label string) *rand.Rand {
	return rand.New(rand.NewPCG(rapid.Uint64().Draw(t, label), 0))
}

// bits makes n tokens, of two kinds.
func bits(d *rand.Rand, n int) []uint32 {
	out := make([]uint32, n)
	for i := range out {
		out[i] = uint32(d.IntN(2))
	}
	return out
}

// add queues a request whose tokens are likely to be somebody else's too.
func (m *model) add(t *rapid.T) {
	d := draw(t, "request")
	r := Request{
		Prompt:    bits(d, 1+d.IntN(30)),
		Output:    bits(d, 1+d.IntN(1+d.IntN(20))),
		Stops:     d.IntN(2) == 0,
		MaxTokens: 1 + d.IntN(1+d.IntN(30)),
		Priority:  d.IntN(3),
		ArrivalNS: int64(m.added / 3), // some at the same time
	}
	if m.config.Rules.FirstTiedLoses {
		r.ArrivalNS = int64(m.added) // vLLM's tied requests may never end
	}
	if !r.Stops {
		r.MaxTokens = min(r.MaxTokens, len(r.Output))
	}
	id, err := m.s.Add(r)
	tokens := len(r.Prompt) + min(len(r.Output), r.MaxTokens, m.config.MaxModelLen-len(r.Prompt)) - 1
	fits := len(r.Prompt) < m.config.MaxModelLen && ceilDiv(tokens, m.config.BlockSize) <= m.config.NumBlocks
	if (err == nil) != fits {
		t.Fatalf("Add of %d + %d tokens to %d blocks of %d, context %d: %v",
			len(r.Prompt), len(r.Output), m.config.NumBlocks, m.config.BlockSize, m.config.MaxModelLen, err)
	}
	if err != nil {
		return
	}
	if m.alive[id] != nil {
		t.Fatalf("Add returned the id of a request that is alive")
	}
	m.alive[id] = &modelRequest{Request: r, place: m.added}
	m.added++
}

func (m *model) abort(t *rapid.T) {
	if len(m.alive) == 0 {
		t.Skip("nobody is there")
	}
	ids := append(m.s.AppendRunning(nil), m.s.AppendWaiting(nil)...)
	id := rapid.SampledFrom(ids).Draw(t, "id")
	if !m.s.Abort(id) || m.s.Abort(id) {
		t.Fatal("Abort must be true once, then false")
	}
	delete(m.alive, id)
}

func (m *model) reset() {
	unused := m.s.FreeBlocks() == m.config.NumBlocks
	if ok := m.s.ResetPrefixCache(); ok != unused {
		m.t.Fatalf("ResetPrefixCache is %v with %d of %d blocks free", ok, m.s.FreeBlocks(), m.config.NumBlocks)
	}
	if unused && len(m.s.AppendRegistered(nil)) > 0 {
		m.t.Fatal("blocks are registered after a reset")
	}
}

// turn is one turn of the engine's loop.
func (m *model) turn() {
	if m.s.HasWork() {
		m.schedule()
		m.check()
		if m.s.Ahead() {
			return
		}
	}
	if m.s.InFlight() > 0 {
		m.complete()
		m.check()
	}
}

func (m *model) schedule() {
	idle, waiting := m.s.NumRunning() == 0, m.s.NumWaiting()
	step := m.s.Schedule()
	if idle && waiting > 0 && len(step.Admitted) == 0 {
		m.t.Fatalf("nothing runs, %d wait, and nobody is admitted", waiting)
	}
	if len(step.Seqs) == 0 && len(step.Preempted) == 0 && m.s.InFlight() == 1 && len(m.alive) > 0 {
		m.t.Fatalf("nothing is computed, and %d requests have nothing to wait for", len(m.alive))
	}
	if len(step.Preempted) > 0 && len(step.Admitted) > 0 {
		m.t.Fatal("somebody was admitted in a step that preempted")
	}
	tokens, seen := 0, map[ID]bool{}
	for _, e := range step.Seqs {
		if e.New < 1 || seen[e.ID] || m.alive[e.ID] == nil {
			m.t.Fatalf("the step lists %+v", e)
		}
		tokens, seen[e.ID] = tokens+int(e.New), true
	}
	if tokens != step.Tokens || tokens > m.config.MaxNumBatchedTokens {
		m.t.Fatalf("Step.Tokens is %d, the sequences have %d, the budget is %d", step.Tokens, tokens, m.config.MaxNumBatchedTokens)
	}
	m.saw.steps++
	m.saw.preempted += len(step.Preempted)
	for _, a := range step.Admitted {
		if a.Resumed {
			m.saw.resumed++
		}
		if a.Cached > 0 {
			m.saw.cached++
		}
		if a.Resumed || m.config.Policy != FCFS {
			continue
		}
		if place := m.alive[a.ID].place; place < m.lastAdmitted {
			m.t.Fatalf("request %d was admitted after request %d", place, m.lastAdmitted)
		} else {
			m.lastAdmitted = place
		}
	}
}

func (m *model) complete() {
	waiting := m.s.AppendWaiting(nil)
	for _, o := range m.s.Complete() {
		r := m.alive[o.ID]
		if r == nil || int(o.Index) != r.outputs {
			m.t.Fatalf("output %+v, want number %d of a request that is alive", o, r.outputs)
		}
		r.outputs++
		want := Unfinished
		allowed := r.allowed(m.config.MaxModelLen)
		switch {
		case r.Stops && r.outputs == len(r.Output):
			want = FinishStop
		case r.outputs == allowed:
			want = FinishLength
		}
		if o.Finish != want {
			m.t.Fatalf("output %+v of %d, %d allowed: want finish %q", o, len(r.Output), allowed, want)
		}
		if want != Unfinished {
			if slices.Contains(waiting, o.ID) {
				m.saw.finishedWaiting++
			}
			delete(m.alive, o.ID)
		}
	}
}

// drain lets all requests end. Every turn computes at least one token of somebody,
// and a token is computed again only after a preemption, so the bound is generous.
func (m *model) drain() {
	for turns := 0; m.s.HasWork() || m.s.InFlight() > 0; turns++ {
		if turns > 100_000 {
			m.t.Fatalf("%d running and %d waiting never end", m.s.NumRunning(), m.s.NumWaiting())
		}
		m.turn()
	}
	if len(m.alive) > 0 || m.s.FreeBlocks() != m.config.NumBlocks {
		m.t.Fatalf("%d requests did not end, %d of %d blocks are free", len(m.alive), m.s.FreeBlocks(), m.config.NumBlocks)
	}
}

// check holds at any moment.
func (m *model) check() {
	running, waiting := m.s.AppendRunning(nil), m.s.AppendWaiting(nil)
	if len(running) > m.config.MaxNumSeqs {
		m.t.Fatalf("%d run, at most %d may", len(running), m.config.MaxNumSeqs)
	}
	for _, id := range append(slices.Clone(running), waiting...) {
		if m.alive[id] == nil {
			m.t.Fatalf("%v is running or waiting, but has ended", id)
		}
	}
	if len(running)+len(waiting) != len(m.alive) {
		m.t.Fatalf("%d running and %d waiting of %d alive", len(running), len(waiting), len(m.alive))
	}
	if err := m.checkBlocks(running, waiting); err != nil {
		m.t.Fatal(err)
	}
	if err := m.checkContents(running); err != nil {
		m.t.Fatal(err)
	}
}

// checkBlocks says whether every block is in the free queue or in as many tables as
// it counts, and every table just long enough.
func (m *model) checkBlocks(running, waiting []ID) error {
	holders := make([]int32, m.config.NumBlocks+1)
	for _, id := range running {
		table := m.s.AppendBlockTable(nil, id)
		if want := ceilDiv(int(m.s.seqs.get(id).computed), m.config.BlockSize); len(table) != want {
			return fmt.Errorf("a table of %d blocks, must be %d", len(table), want)
		}
		for _, b := range table {
			holders[b]++
		}
	}
	for _, id := range waiting {
		if table := m.s.AppendBlockTable(nil, id); len(table) > 0 {
			return fmt.Errorf("a waiting request holds blocks %v", table)
		}
	}
	queue := m.s.AppendFreeQueue(nil)
	if len(queue) != m.s.FreeBlocks() {
		return fmt.Errorf("%d blocks in the free queue, but %d are free", len(queue), m.s.FreeBlocks())
	}
	queued := make([]bool, m.config.NumBlocks+1)
	for _, b := range queue {
		if queued[b] {
			return fmt.Errorf("block %d is in the free queue twice", b)
		}
		queued[b] = true
	}
	for b := int32(1); int(b) <= m.config.NumBlocks; b++ {
		refs := m.s.pool.blocks[b].refs
		if refs != holders[b] || (refs == 0) != queued[b] {
			return fmt.Errorf("block %d: %d references, in %d tables, in the free queue: %v", b, refs, holders[b], queued[b])
		}
	}
	return nil
}

// checkContents says whether every registered block can be found, and holds the
// tokens that those who use it expect there.
func (m *model) checkContents(running []ID) error {
	blocks := m.s.pool.blocks
	for _, b := range m.s.AppendRegistered(nil) {
		if found := m.s.pool.index.lookup(blocks, blocks[b].key); found == 0 || blocks[found].key != blocks[b].key {
			return fmt.Errorf("registered block %d is not found", b)
		}
	}
	for _, id := range running {
		r := m.alive[id]
		tokens := append(slices.Clone(r.Prompt), r.Output...)
		for i, b := range m.s.AppendBlockTable(nil, id) {
			if !blocks[b].registered {
				continue
			}
			prefix := tokens[:(i+1)*m.config.BlockSize]
			if before, ok := m.contents[blocks[b].key]; ok && !slices.Equal(before, prefix) {
				return fmt.Errorf("block %d holds %v, and is used for %v", b, before, prefix)
			}
			m.contents[blocks[b].key] = prefix
		}
	}
	return nil
}
