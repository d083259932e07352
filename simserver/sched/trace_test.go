package sched

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/valyala/fastjson"
)

// trace is what a scheduler did with a scenario.
type trace struct {
	name  string
	steps []traceStep
}

// traceStep is one turn of the engine's loop. What the file does not have is nil;
// an empty list is not.
type traceStep struct {
	step                                         *int
	scheduled                                    []share // in order
	admitted, resumed, preempted                 []string
	cached, tokensOut                            map[string]int
	finished                                     map[string]string
	runningAfter, waitingAfter, running, waiting []string
	abortedBeforeSchedule, abortedBeforeUpdate   []string
	reset                                        *bool
	freeAfter, free, outputOf                    *int
	nRunning, nWaiting                           *int
	prefix                                       map[string]int
	tables                                       map[string][]int
	freeQueue, registered                        []int
}

// share is a request's tokens in a step.
type share struct {
	id     string
	tokens int
}

// diff names the first field that differs, or is empty.
func (got *traceStep) diff(want *traceStep) string {
	for _, d := range []string{
		differ("step", got.step, want.step, equalPointer),
		differ("aborted_before_schedule", got.abortedBeforeSchedule, want.abortedBeforeSchedule, equalList),
		differ("reset_prefix_cache", got.reset, want.reset, equalPointer),
		differ("scheduled", got.scheduled, want.scheduled, equalList),
		differ("admitted", got.admitted, want.admitted, equalList),
		differ("resumed", got.resumed, want.resumed, equalList),
		differ("cached_tokens", got.cached, want.cached, equalMap),
		differ("preempted", got.preempted, want.preempted, equalList),
		differ("free_blocks_after_schedule", got.freeAfter, want.freeAfter, equalPointer),
		differ("running_after_schedule", got.runningAfter, want.runningAfter, equalList),
		differ("waiting_after_schedule", got.waitingAfter, want.waitingAfter, equalList),
		differ("aborted_before_update", got.abortedBeforeUpdate, want.abortedBeforeUpdate, equalList),
		differ("output_of_step", got.outputOf, want.outputOf, equalPointer),
		differ("tokens_out", got.tokensOut, want.tokensOut, equalMap),
		differ("finished", got.finished, want.finished, equalMap),
		differ("prefix_cache", got.prefix, want.prefix, equalMap),
		differ("free_blocks", got.free, want.free, equalPointer),
		differ("running", got.running, want.running, equalList),
		differ("waiting", got.waiting, want.waiting, equalList),
		differ("n_running", got.nRunning, want.nRunning, equalPointer),
		differ("n_waiting", got.nWaiting, want.nWaiting, equalPointer),
		differ("block_tables", got.tables, want.tables, equalTables),
		differ("free_queue", got.freeQueue, want.freeQueue, equalList),
		differ("hashed_blocks", got.registered, want.registered, equalList),
	} {
		if d != "" {
			return d
		}
	}
	return ""
}

func differ[T any](field string, got, want T, equal func(a, b T) bool) string {
	if equal(got, want) {
		return ""
	}
	return fmt.Sprintf("%s is %v, must be %v", field, show(got), show(want))
}

func show(v any) any {
	switch p := v.(type) {
	case *int:
		if p != nil {
			return *p
		}
	case *bool:
		if p != nil {
			return *p
		}
	}
	return v
}

func equalPointer[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }

func equalList[T comparable](a, b []T) bool { return (a == nil) == (b == nil) && slices.Equal(a, b) }

func equalMap[V comparable](a, b map[string]V) bool {
	return (a == nil) == (b == nil) && maps.Equal(a, b)
}

func equalTables(a, b map[string][]int) bool {
	return (a == nil) == (b == nil) && maps.EqualFunc(a, b, slices.Equal)
}

// parseTrace reads a line of a trace file. It takes only what is compared.
func parseTrace(p *fastjson.Parser, line []byte) (trace, error) {
	v, err := p.ParseBytes(line)
	if err != nil {
		return trace{}, err
	}
	out := trace{name: text(v.Get("name"))}
	for _, step := range v.GetArray("steps") {
		var s traceStep
		var unknown error
		step.GetObject().Visit(func(key []byte, v *fastjson.Value) {
			if !s.set(string(key), v) {
				unknown = errors.Join(unknown, fmt.Errorf("%s: field %q is not compared", out.name, key))
			}
		})
		if unknown != nil {
			return trace{}, unknown
		}
		out.steps = append(out.steps, s)
	}
	return out, nil
}

// set takes over one field, or reports false.
func (s *traceStep) set(key string, v *fastjson.Value) bool {
	switch key {
	case "step":
		s.step = number(v)
	case "aborted_before_schedule":
		s.abortedBeforeSchedule = listOf(v, text)
	case "reset_prefix_cache":
		b := v.GetBool()
		s.reset = &b
	case "scheduled":
		s.scheduled = []share{}
		v.GetObject().Visit(func(id []byte, n *fastjson.Value) {
			s.scheduled = append(s.scheduled, share{string(id), n.GetInt()})
		})
	case "admitted":
		s.admitted = listOf(v, text)
	case "resumed":
		s.resumed = listOf(v, text)
	case "cached_tokens":
		s.cached = mapOf(v, integer)
	case "preempted":
		s.preempted = listOf(v, text)
	case "free_blocks_after_schedule":
		s.freeAfter = number(v)
	case "running_after_schedule":
		s.runningAfter = listOf(v, text)
	case "waiting_after_schedule":
		s.waitingAfter = listOf(v, text)
	case "aborted_before_update":
		s.abortedBeforeUpdate = listOf(v, text)
	case "output_of_step":
		s.outputOf = number(v)
	case "tokens_out":
		s.tokensOut = mapOf(v, integer)
	case "finished":
		s.finished = mapOf(v, text)
	case "prefix_cache":
		s.prefix = mapOf(v, integer)
	case "free_blocks":
		s.free = number(v)
	case "running":
		s.running = listOf(v, text)
	case "waiting":
		s.waiting = listOf(v, text)
	case "n_running":
		s.nRunning = number(v)
	case "n_waiting":
		s.nWaiting = number(v)
	case "block_tables":
		s.tables = mapOf(v, func(v *fastjson.Value) []int { return listOf(v, integer) })
	case "free_queue":
		s.freeQueue = listOf(v, integer)
	case "hashed_blocks":
		s.registered = listOf(v, integer)
	default:
		return false
	}
	return true
}

func text(v *fastjson.Value) string { return string(v.GetStringBytes()) }

func integer(v *fastjson.Value) int { return v.GetInt() }

func number(v *fastjson.Value) *int {
	n := v.GetInt()
	return &n
}

func listOf[T any](v *fastjson.Value, of func(*fastjson.Value) T) []T {
	values := v.GetArray()
	out := make([]T, len(values))
	for i := range values {
		out[i] = of(values[i])
	}
	return out
}

func mapOf[T any](v *fastjson.Value, of func(*fastjson.Value) T) map[string]T {
	o := v.GetObject()
	out := make(map[string]T, o.Len())
	o.Visit(func(key []byte, v *fastjson.Value) { out[string(key)] = of(v) })
	return out
}

// readLines hands out the lines of a compressed file.
func readLines(t *testing.T, path string, each func(line []byte)) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	for r := bufio.NewReaderSize(z, 1<<20); ; {
		line, err := r.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			each(line)
		}
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
}
