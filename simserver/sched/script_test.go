package sched

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestScripts runs the stories in testdata/*.txt: a command, then what must come
// of it. go test -run TestScripts -rewrite writes down what does.
func TestScripts(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scripts in testdata: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			var st story
			datadriven.RunTest(t, path, st.command)
		})
	}
}

// story is a script's scheduler, with names for its requests.
type story struct {
	s     *Scheduler
	ids   map[string]ID
	names map[ID]string
	order []string // of Add
}

func (st *story) command(t *testing.T, d *datadriven.TestData) string {
	if d.Cmd == "new" {
		return st.create(t, d)
	}
	if st.s == nil {
		t.Fatalf("%s: the script has to begin with new", d.Pos)
	}
	var out strings.Builder
	switch d.Cmd {
	case "add":
		if err := st.add(t, d); err != nil {
			return err.Error()
		}
	case "abort":
		if id := st.ids[d.CmdArgs[0].Key]; !st.s.Abort(id) {
			return "it has ended"
		}
	case "reset":
		if !st.s.ResetPrefixCache() {
			return "refused: blocks are in use"
		}
	case "schedule":
		st.schedule(&out)
	case "complete":
		st.complete(&out)
	case "step":
		for range intArg(t, d, "times", 1) {
			st.step(&out)
		}
	default:
		t.Fatalf("%s: no command %q", d.Pos, d.Cmd)
	}
	st.tellState(&out)
	return out.String()
}

// create makes the scheduler: by default a cache of 8 blocks of 4 tokens.
func (st *story) create(t *testing.T, d *datadriven.TestData) string {
	name := "vllm-0.23"
	d.MaybeScanArgs(t, "profile", &name)
	c, err := NewConfig(name)
	if err != nil {
		return err.Error()
	}
	c.NumBlocks = intArg(t, d, "blocks", 8)
	c.BlockSize = intArg(t, d, "block-size", 4)
	c.MaxNumSeqs = intArg(t, d, "seqs", 8)
	c.MaxNumBatchedTokens = intArg(t, d, "budget", 32)
	c.MaxModelLen = intArg(t, d, "context", 32)
	c.LongPrefillTokenThreshold = intArg(t, d, "long-prefill", 0)
	d.MaybeScanArgs(t, "watermark", &c.Watermark)
	c.AsyncScheduling = d.HasArg("async")
	c.EnablePrefixCaching = d.HasArg("cache")
	c.EnableChunkedPrefill = !d.HasArg("whole-prompts")
	c.ReserveFullISL = c.ReserveFullISL && !d.HasArg("no-gate")
	if d.HasArg("priority") {
		c.Policy = Priority
	}
	s, err := New(c)
	if err != nil {
		return err.Error()
	}
	*st = story{s: s, ids: map[string]ID{}, names: map[ID]string{}}
	return ""
}

// add queues a request. Its prompt is a number of tokens of its own, or made of the
// beginnings of texts that several share: prompt=intro[8]+question[3]. The text of
// x's answer is called x.answer.
func (st *story) add(t *testing.T, d *datadriven.TestData) error {
	name := d.CmdArgs[0].Key
	r := Request{Name: name, ArrivalNS: int64(len(st.order))}
	var prompt string
	d.ScanArgs(t, "prompt", &prompt)
	for _, piece := range strings.Split(prompt, "+") {
		r.Prompt = append(r.Prompt, tokensOf(t, d, piece, name+".prompt")...)
	}
	var answer string
	d.ScanArgs(t, "output", &answer)
	r.Output = tokensOf(t, d, answer, name+".answer")
	r.MaxTokens = intArg(t, d, "max-tokens", len(r.Output))
	r.Stops = d.HasArg("stops")
	r.Priority = intArg(t, d, "priority", 0)
	id, err := st.s.Add(r)
	if err != nil {
		return err
	}
	st.ids[name], st.names[id] = id, name
	st.order = append(st.order, name)
	return nil
}

// tokensOf makes the first n tokens of a named text, from "name[n]", or of another
// one from "n" alone.
func tokensOf(t *testing.T, d *datadriven.TestData, piece, otherwise string) []uint32 {
	name, count := otherwise, piece
	if at := strings.IndexByte(piece, '['); at >= 0 {
		name, count = piece[:at], strings.TrimSuffix(piece[at+1:], "]")
	}
	var n int
	if _, err := fmt.Sscan(count, &n); err != nil {
		t.Fatalf("%s: %q is not a number of tokens", d.Pos, piece)
	}
	first := uint32(0)
	for _, letter := range name {
		first = first*31 + uint32(letter)
	}
	tokens := make([]uint32, n)
	for i := range tokens {
		tokens[i] = first*1000 + uint32(i)
	}
	return tokens
}

// step is one turn of the engine's loop.
func (st *story) step(out *strings.Builder) {
	if st.s.HasWork() {
		st.schedule(out)
		if st.s.Ahead() {
			return
		}
	}
	if st.s.InFlight() > 0 {
		st.complete(out)
	}
}

func (st *story) schedule(out *strings.Builder) {
	step := st.s.Schedule()
	for _, id := range step.Preempted {
		fmt.Fprintf(out, "preempt  %s\n", st.names[id])
	}
	for _, a := range step.Admitted {
		verb := "admit"
		if a.Resumed {
			verb = "resume"
		}
		fmt.Fprintf(out, "%-8s %s", verb, st.names[a.ID])
		if a.Cached > 0 {
			fmt.Fprintf(out, ", %d tokens cached", a.Cached)
		}
		out.WriteByte('\n')
	}
	for _, e := range step.Seqs {
		kind := "decode"
		if e.Prefill {
			kind = "prefill"
		}
		fmt.Fprintf(out, "compute  %s: %s", st.names[e.ID], kind)
		if e.New > 1 {
			fmt.Fprintf(out, " tokens %d to %d\n", e.Context+1, e.Context+e.New)
		} else {
			fmt.Fprintf(out, " token %d\n", e.Context+1)
		}
	}
	if len(step.Seqs) == 0 {
		out.WriteString("compute  nothing\n")
	}
}

func (st *story) complete(out *strings.Builder) {
	for _, o := range st.s.Complete() {
		fmt.Fprintf(out, "output   %s: number %d", st.names[o.ID], o.Index+1)
		if o.Finish != Unfinished {
			fmt.Fprintf(out, ", finished (%s)", o.Finish)
		}
		out.WriteByte('\n')
	}
}

// tellState says who runs, who waits, and where the blocks are. A star marks a
// free block that still caches something.
func (st *story) tellState(out *strings.Builder) {
	st.tellIDs(out, "running ", st.s.AppendRunning(nil))
	st.tellIDs(out, "waiting ", st.s.AppendWaiting(nil))
	out.WriteString("blocks  ")
	for _, name := range st.order {
		if table := st.s.AppendBlockTable(nil, st.ids[name]); len(table) > 0 {
			fmt.Fprintf(out, " %s%v", name, table)
		}
	}
	out.WriteString(" free[")
	registered := map[int32]bool{}
	for _, b := range st.s.AppendRegistered(nil) {
		registered[b] = true
	}
	for i, b := range st.s.AppendFreeQueue(nil) {
		if i > 0 {
			out.WriteByte(' ')
		}
		fmt.Fprint(out, b)
		if registered[b] {
			out.WriteByte('*')
		}
	}
	out.WriteString("]\n")
}

func (st *story) tellIDs(out *strings.Builder, what string, ids []ID) {
	if len(ids) == 0 {
		return
	}
	out.WriteString(what)
	for _, id := range ids {
		out.WriteByte(' ')
		out.WriteString(st.names[id])
	}
	out.WriteByte('\n')
}

func intArg(t *testing.T, d *datadriven.TestData, name string, otherwise int) int {
	d.MaybeScanArgs(t, name, &otherwise)
	return otherwise
}
