package workload

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func readFile(t testing.TB, name string, o TraceOptions) *Recording {
	t.Helper()
	f, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := ReadTrace(f, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestReadTrace(t *testing.T) {
	const ms = time.Millisecond
	for name, want := range map[string][]request{
		"blocks.jsonl": {
			{0, 1030, 20, []int64{7, 8, 9}},
			{0, 600, 1, []int64{7, 10}},
			{1500 * ms, 1030, 400, []int64{7, 8, 9}},
			{2250*ms + 500*time.Microsecond, 3, 1, []int64{11}},
			{4000 * ms, 2000, 33, []int64{7, 8}},
		},
		"dates.csv":   {{0, 700, 12, nil}, {100, 40, 9, nil}, {2500 * ms, 5, 300, nil}},
		"plain.csv":   {{ms, 200, 6, nil}, {2500 * ms, 100, 5, nil}, {2500 * ms, 300, 7, nil}},
		"plain.jsonl": {{250 * ms, 128, 16, nil}, {10_000 * ms, 1024, 32, []int64{-1}}},
	} {
		r := readFile(t, name, TraceOptions{})
		if !reflect.DeepEqual(r.requests, want) {
			t.Errorf("%s is read as %v, want %v", name, r.requests, want)
		}
		if r.Len() != len(want) || len(r.Times()) != len(want) || r.Times()[1] != want[1].at {
			t.Errorf("%s: %d requests at %v, want %d", name, r.Len(), r.Times(), len(want))
		}
	}
}

func TestReadTraceDatesOutOfOrder(t *testing.T) {
	for _, zone := range []string{"", "+00:00", "+05:30"} {
		text := "TIMESTAMP,ContextTokens,GeneratedTokens\n2026-01-31 10:00:05" + zone + ",3,1\n2026-01-31 10:00:02.5" + zone + ",1,1\n2026-01-31 10:00:04" + zone + ",2,1\n"
		r, err := ReadTrace(strings.NewReader(text), TraceOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if want := []time.Duration{0, 1500 * time.Millisecond, 2500 * time.Millisecond}; !slices.Equal(r.Times(), want) {
			t.Errorf("zone %q: times %v, want %v", zone, r.Times(), want)
		}
		if got := r.Prompts(); got != (Lengths{1, 3}) || r.requests[0].prompt != 1 {
			t.Errorf("zone %q: requests %v", zone, r.requests)
		}
	}
}

func TestTraceOptions(t *testing.T) {
	const s = time.Second
	for _, c := range []struct {
		o                TraceOptions
		times            []time.Duration
		prompts, outputs Lengths
		cutP, cutO       int
	}{
		{TraceOptions{}, []time.Duration{0, 0, 1500 * time.Millisecond, 2250500 * time.Microsecond, 4 * s}, Lengths{3, 2000}, Lengths{1, 400}, 0, 0},
		{TraceOptions{Speed: 2}, []time.Duration{0, 0, 750 * time.Millisecond, 1125250 * time.Microsecond, 2 * s}, Lengths{3, 2000}, Lengths{1, 400}, 0, 0},
		{TraceOptions{Speed: 0.5, First: 3}, []time.Duration{0, 0, 3 * s}, Lengths{600, 1030}, Lengths{1, 400}, 0, 0},
		{TraceOptions{First: 99}, []time.Duration{0, 0, 1500 * time.Millisecond, 2250500 * time.Microsecond, 4 * s}, Lengths{3, 2000}, Lengths{1, 400}, 0, 0},
		{TraceOptions{Until: 1500 * time.Millisecond}, []time.Duration{0, 0}, Lengths{600, 1030}, Lengths{1, 20}, 0, 0},
		{TraceOptions{Until: 4 * s, Speed: 4, First: 4}, []time.Duration{0, 0, 375 * time.Millisecond, 562625 * time.Microsecond}, Lengths{3, 1030}, Lengths{1, 400}, 0, 0},
		{TraceOptions{MaxPrompt: 1024, MaxOutput: 30}, []time.Duration{0, 0, 1500 * time.Millisecond, 2250500 * time.Microsecond, 4 * s}, Lengths{3, 1024}, Lengths{1, 30}, 3, 2},
	} {
		r := readFile(t, "blocks.jsonl", c.o)
		if !slices.Equal(r.Times(), c.times) || r.Prompts() != c.prompts || r.Outputs() != c.outputs {
			t.Errorf("%+v: times %v, prompts %v, outputs %v; want %v, %v, %v", c.o, r.Times(), r.Prompts(), r.Outputs(), c.times, c.prompts, c.outputs)
		}
		raised := 0
		if len(c.times) > 3 {
			raised = 1
		}
		if r.CutPrompts != c.cutP || r.CutOutputs != c.cutO || r.RaisedOutputs != raised {
			t.Errorf("%+v: %d prompts and %d outputs cut, %d raised; want %d, %d, %d", c.o, r.CutPrompts, r.CutOutputs, r.RaisedOutputs, c.cutP, c.cutO, raised)
		}
	}
}

func TestReadTraceRefuses(t *testing.T) {
	const azure, plain = "TIMESTAMP,ContextTokens,GeneratedTokens\n", "at_s,prompt_tokens,output_tokens\n"
	for _, c := range []struct{ text, want string }{
		{"", "no requests"},
		{"\n\n", "no requests"},
		{azure, "no requests"},
		{"1,2,3\n", "line 1: it is neither JSON nor a header"},
		{"time,prompt_tokens,output_tokens\n", "line 1: it is neither"},
		{plain + "1,2,3\n\n1,2\n", "line 4: it has 2 columns, the header has 3"},
		{plain + "x,2,3\n", `line 2: "x" is no number of seconds`},
		{plain + "1,x,3\n", `line 2: "x" is no number of prompt tokens`},
		{plain + "1,2,\n", `line 2: "" is no number of output tokens`},
		{plain + "-1,2,3\n", "line 2: a time of -1 × 1s is not possible"},
		{plain + "nan,2,3\n", "line 2: a time of NaN"},
		{plain + "1e300,2,3\n", "line 2: a time of 1e+300"},
		{plain + "1,-2,3\n", "line 2: a prompt of -2 tokens is not possible"},
		{plain + "1,2,99999999\n", "line 2: an output of 99999999 tokens is not possible"},
		{azure + "yesterday,2,3\n", `line 2: "yesterday" is no date and time`},
		{azure + "1926-01-01 00:00:00,2,3\n2026-01-01 00:00:00,2,3\n", "line 3: 2026-01-01 00:00:00 is more than"},
		{azure + "2026-01-01 00:00:00,2,3\n2026-10-01 00:00:00,2,3\n2025-05-01 00:00:00,2,3\n", "after the start, more than"},
		{`{"timestamp": 1, "input_length": 2}` + "\n", "line 1: it has neither"},
		{`{"at_s": 1, "prompt_tokens": 2, "output_length": 2}` + "\n", "line 1: it has neither"},
		{`{"timestamp": 1, "input_length": 2, "output_length": 3}` + "\nx\n", "line 2: it is no request"},
		{`{"timestamp": "1", "input_length": 2, "output_length": 3}` + "\n", "line 1: it is no request"},
		{`{"timestamp": 1767225600000, "input_length": 2, "output_length": 3}` + "\n", "it counts from the start of the trace"},
		{`{"timestamp": 1, "input_length": 512, "output_length": 3, "hash_ids": [1, 2]}` + "\n", "line 1: 2 blocks (hash_ids) are too many for a prompt of 512 tokens: with 512 tokens a block it has 1 at most"},
		{plain + strings.Repeat("1,2,3\n", 3) + strings.Repeat("1", maxTraceLine+1), "line 5: it is longer than"},
	} {
		if _, err := ReadTrace(strings.NewReader(c.text), TraceOptions{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60q: error %v, want one with %q", c.text, err, c.want)
		}
	}
	for _, c := range []struct {
		o    TraceOptions
		want string
	}{
		{TraceOptions{Speed: -1}, "a speed of -1"},
		{TraceOptions{Speed: 1e9}, "a speed of 1e+09"},
		{TraceOptions{Until: -1}, "a part of -1ns"},
		{TraceOptions{First: -1}, "-1 requests"},
		{TraceOptions{MaxPrompt: -1}, "prompts of at most -1"},
		{TraceOptions{MaxOutput: -2}, "outputs of at most -2"},
		{TraceOptions{BlockTokens: -3}, "blocks of -3"},
		{TraceOptions{Until: 1}, "no requests before 1ns"},
	} {
		if _, err := ReadTrace(strings.NewReader(plain+"1,2,3\n"), c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want one with %q", c.o, err, c.want)
		}
	}
}

func newTrace(t testing.TB, overhead int, r *Recording, firstID int64) *Trace {
	t.Helper()
	trace, err := NewTrace(1, Calibration{Vocabulary(), overhead}, r, firstID)
	if err != nil {
		t.Fatal(err)
	}
	return trace
}

func TestTracePromptsHaveTheirLengths(t *testing.T) {
	r := readFile(t, "blocks.jsonl", TraceOptions{})
	for overhead, raised := range map[int]int{0: 0, 2: 0, 3: 1, 9: 1, 600: 2} {
		trace := newTrace(t, overhead, r, 7)
		if trace.Raised() != raised {
			t.Errorf("overhead %d: %d prompts raised, want %d", overhead, trace.Raised(), raised)
		}
		for k, want := range []int{1030, 600, 1030, 3, 2000} {
			i := int64(k) + 7
			want = max(want, overhead+1)
			if n := tokens(trace.AppendPrompt(nil, i), overhead); n != want || trace.PromptTokens(i) != want {
				t.Errorf("overhead %d: prompt %d has %d tokens and is said to have %d, want %d", overhead, i, n, trace.PromptTokens(i), want)
			}
			if output := r.requests[k].output; trace.OutputTokens(i) != output {
				t.Errorf("request %d asks for %d tokens, want %d", i, trace.OutputTokens(i), output)
			}
		}
	}
}

// TestTracePromptsShareTheirBlocks: as many words are shared as the blocks say,
// and a few by chance.
func TestTracePromptsShareTheirBlocks(t *testing.T) {
	for _, overhead := range []int{0, 9} {
		trace := newTrace(t, overhead, readFile(t, "blocks.jsonl", TraceOptions{}), 0)
		whole := 1030 - overhead
		for _, c := range []struct{ a, b, want int }{
			{0, 1, 512}, {0, 2, whole}, {0, 3, 1}, {0, 4, min(1024, whole)}, {1, 2, 512}, {1, 4, 512}, {3, 4, 1},
		} {
			a, b := trace.AppendPrompt(nil, int64(c.a)), trace.AppendPrompt(nil, int64(c.b))
			if n := sharedWords(a, b); n < c.want || n > c.want+byChance {
				t.Errorf("overhead %d: prompts %d and %d share %d words, want %d", overhead, c.a, c.b, n, c.want)
			}
		}
	}
}

// TestTraceGoesRound: past its end a trace starts again, with the same blocks and
// other words past them.
func TestTraceGoesRound(t *testing.T) {
	r := readFile(t, "blocks.jsonl", TraceOptions{})
	trace := newTrace(t, 0, r, 100)
	for _, i := range []int64{104, 109, 99, -1} {
		if trace.PromptTokens(i) != 2000 || trace.OutputTokens(i) != 33 {
			t.Errorf("request %d has %d and %d tokens, want those of the fifth", i, trace.PromptTokens(i), trace.OutputTokens(i))
		}
		if i == 104 {
			continue
		}
		if n := sharedWords(trace.AppendPrompt(nil, 104), trace.AppendPrompt(nil, i)); n < 1024 || n > 1024+byChance {
			t.Errorf("prompts 104 and %d share %d words, want 1024", i, n)
		}
	}
}

// TestTracePromptsAreDistinct: without block ids no two prompts are alike, and
// with different ones neither.
func TestTracePromptsAreDistinct(t *testing.T) {
	for _, form := range []string{
		`{"at_s": %d, "prompt_tokens": 20, "output_tokens": 1}`,
		`{"at_s": %d, "prompt_tokens": 20, "output_tokens": 1, "hash_ids": [%[1]d]}`,
	} {
		var text strings.Builder
		for i := range 10_000 {
			fmt.Fprintf(&text, form+"\n", i)
		}
		r, err := ReadTrace(strings.NewReader(text.String()), TraceOptions{})
		if err != nil {
			t.Fatal(err)
		}
		trace := newTrace(t, 0, r, 0)
		var prompts [][]byte
		for i := range int64(10_000) {
			prompts = append(prompts, trace.AppendPrompt(nil, i))
		}
		if longest := longestShared(prompts); longest > 1+byChance {
			t.Errorf("%s: two prompts share %d words", form, longest)
		}
	}
}

// TestTraceProperties: any two prompts share what their blocks say, whatever the
// size of a block, the cut and the server.
func TestTraceProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 40).Draw(t, "block")
		o := TraceOptions{BlockTokens: size, MaxPrompt: rapid.IntRange(0, 200).Draw(t, "cut")}
		overhead := rapid.IntRange(0, 20).Draw(t, "overhead")
		blocks := func(name string) ([]int64, int) {
			ids := rapid.SliceOfN(rapid.Int64Range(1, 3), 0, 6).Draw(t, name)
			for k := range ids {
				ids[k] += int64(10 * k) // as in real traces, an id has one place
			}
			return ids, max(len(ids)*size+rapid.IntRange(-size+1, 60).Draw(t, name+" more"), 0)
		}
		var text strings.Builder
		var ids [2][]int64
		for k, name := range []string{"a", "b"} {
			var n int
			ids[k], n = blocks(name)
			fmt.Fprintf(&text, "{\"timestamp\":%d,\"input_length\":%d,\"output_length\":1,\"hash_ids\":%s}\n", k, n, strings.ReplaceAll(fmt.Sprint(ids[k]), " ", ","))
		}
		r, err := ReadTrace(strings.NewReader(text.String()), o)
		if err != nil {
			t.Fatal(err)
		}
		trace, err := NewTrace(rapid.Uint64().Draw(t, "seed"), Calibration{Vocabulary(), overhead}, r, 0)
		if err != nil {
			t.Fatal(err)
		}
		var prompts [2][]byte
		for k := range prompts {
			prompts[k] = trace.AppendPrompt(nil, int64(k))
			if n := tokens(prompts[k], overhead); n != trace.PromptTokens(int64(k)) {
				t.Fatalf("prompt %d has %d tokens and is said to have %d", k, n, trace.PromptTokens(int64(k)))
			}
			if o.MaxPrompt > 0 && trace.PromptTokens(int64(k)) > max(o.MaxPrompt, overhead+1) {
				t.Fatalf("prompt %d has %d tokens, more than %d", k, trace.PromptTokens(int64(k)), o.MaxPrompt)
			}
		}
		common := 0
		for common < min(len(ids[0]), len(ids[1])) && ids[0][common] == ids[1][common] {
			common++
		}
		shortest := min(trace.PromptTokens(0), trace.PromptTokens(1)) - overhead
		want := max(min(common*size, shortest), 1)
		// Past it some words can agree by chance: up to as many as are drawn alike.
		if n := sharedWords(prompts[0], prompts[1]); n < want || n > want+3 {
			t.Fatalf("%d words are shared, want %d", n, want)
		}
	})
}

func TestTracePromptsAllocateNothing(t *testing.T) {
	allocatesNothing(t, newTrace(t, 9, readFile(t, "blocks.jsonl", TraceOptions{}), 0).AppendPrompt)
}

func TestTraceNeedsACalibration(t *testing.T) {
	r := readFile(t, "plain.csv", TraceOptions{})
	for want, c := range map[string]Calibration{"vocabulary of 0 words": {}, "overhead of -1": {Vocabulary(), -1}} {
		if _, err := NewTrace(1, c, r, 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

func FuzzReadTrace(f *testing.F) {
	for _, name := range []string{"blocks.jsonl", "dates.csv", "plain.csv", "plain.jsonl"} {
		text, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text), 512, 3.0)
	}
	f.Fuzz(func(t *testing.T, text string, block int, speed float64) {
		r, err := ReadTrace(strings.NewReader(text), TraceOptions{BlockTokens: block, Speed: speed, MaxPrompt: 1 << 12})
		if err != nil {
			return
		}
		if times := r.Times(); !slices.IsSorted(times) || times[0] < 0 {
			t.Errorf("the times do not ascend from 0: %v", times)
		}
		trace, err := NewTrace(1, Calibration{Vocabulary(), 9}, r, 0)
		if err != nil {
			t.Fatal(err)
		}
		for i := range int64(min(r.Len(), 20)) {
			if n := tokens(trace.AppendPrompt(nil, i), 9); n != trace.PromptTokens(i) || n > 1<<12 {
				t.Errorf("prompt %d has %d tokens and is said to have %d", i, n, trace.PromptTokens(i))
			}
			if trace.OutputTokens(i) < 1 {
				t.Errorf("request %d asks for %d tokens", i, trace.OutputTokens(i))
			}
		}
	})
}
