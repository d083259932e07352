package openai

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

const eventStream = "text/event-stream; charset=utf-8"

func content(text string) string {
	return fmt.Sprintf(`{"choices":[{"index":0,"delta":{"content":%q},"finish_reason":null}]}`, text)
}

const (
	role   = `{"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`
	think  = `{"choices":[{"index":0,"delta":{"reasoning":"r"},"finish_reason":null}]}`
	finish = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	done   = `[DONE]`
)

func usage(n int) string {
	return fmt.Sprintf(`{"choices":[],"usage":{"prompt_tokens":8,"completion_tokens":%d}}`, n)
}

func grown(text string, n int) string {
	return fmt.Sprintf(`{"choices":[{"index":0,"delta":{"content":%q}}],"usage":{"completion_tokens":%d}}`, text, n)
}

// at is when bytes came whose reader was waiting for them.
func at(ns int64) Received { return Received{NotBefore: ns, At: ns, Read: ns, Waited: true} }

// run feeds one event of a chat a piece, the i-th at instant 10·(i+1), and ends
// the body at instant 1000.
func run(exact int, cut bool, data ...string) Result { return runAPI(Chat, exact, cut, data...) }

func runAPI(api API, exact int, cut bool, data ...string) Result {
	var a Answer
	a.Reset(api, exact)
	a.KeepText = true
	for i, d := range data {
		if a.Feed([]byte("data: "+d+"\n\n"), at(int64(10*(i+1)))) {
			break
		}
	}
	return a.Finish(1000, cut, eventStream)
}

func TestInstants(t *testing.T) {
	r := run(0, false, role, think, think, content("a"), content("b"), finish, usage(4), done, "garbage")
	got := [4]int64{r.First, r.Out, r.Last, r.End}
	if want := [4]int64{20, 40, 50, 80}; got != want {
		t.Errorf("first, out, last, end = %v, want %v", got, want)
	}
	if r.Verdict != Complete || r.OutputTokens != 4 || !r.FromUsage || r.PromptTokens != 8 || r.Estimated {
		t.Errorf("%+v", r)
	}
	r = run(0, false, think, finish)
	if r.Out != Never || r.Last != 10 || r.End != 1000 || r.Verdict != Complete {
		t.Errorf("reasoning alone, no [DONE]: %+v", r)
	}
}

func TestVerdict(t *testing.T) {
	a, b := content("a"), content("b")
	second := `{"choices":[{"index":1,"delta":{"content":"x"}}]}`
	for _, tt := range []struct {
		name   string
		cut    bool
		data   []string
		want   Verdict
		tokens int
	}{
		{"done", false, []string{a, b, done}, Complete, 2},
		{"done, then cut", true, []string{a, done}, Complete, 1},
		{"finish without done", false, []string{a, finish}, Complete, 1},
		{"finish, then cut", true, []string{a, finish}, Truncated, 1},
		{"a choice unfinished", false, []string{a, second, finish}, Truncated, 2},
		{"done whatever the choices said", false, []string{a, second, finish, done}, Complete, 2},
		{"neither", false, []string{a, b}, Truncated, 2},
		{"cut", true, []string{a, b}, Truncated, 2},
		{"cut before any event", true, nil, Truncated, 0},
		{"role alone", false, []string{role, done}, Empty, 0},
		{"done alone", false, []string{done}, Empty, 0},
		{"role and finish", false, []string{role, finish}, Empty, 0},
		{"no event", false, nil, Empty, 0},
		{"usage without tokens", false, []string{usage(0), done}, Empty, 0},
		{"error", false, []string{a, `{"error":{"message":"m"}}`, done}, ServerError, 1},
		{"garbage", false, []string{a, `{"choices"`, b, done}, Malformed, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := run(0, tt.cut, tt.data...)
			if r.Verdict != tt.want || r.OutputTokens != tt.tokens {
				t.Errorf("verdict %d, %d tokens, %q", r.Verdict, r.OutputTokens, r.Message)
			}
			if (r.Message == "") != (r.Verdict == Complete) {
				t.Errorf("message %q", r.Message)
			}
		})
	}
}

func TestTokensPerEvent(t *testing.T) {
	listed := `{"choices":[{"index":0,"delta":{"content":"x"},"token_ids":[1,2,3]}]}`
	other := `{"choices":[{"index":1,"delta":{"content":"x"}}]}`
	for _, tt := range []struct {
		name      string
		data      []string
		want      []float64
		estimated bool
	}{
		{"one each", []string{content("a"), content("b"), usage(2), done}, []float64{1, 1}, false},
		{"no usage", []string{content("a"), content("b"), done}, []float64{1, 1}, false},
		{"usage grows", []string{grown("a", 4), grown("b", 6), grown("c", 7), usage(7), done}, []float64{4, 2, 1}, false},
		{"usage from the role on", []string{grown("", 0), grown("a", 4), grown("b", 6), done}, []float64{4, 2}, false},
		{"usage falls", []string{grown("a", 4), grown("b", 3), usage(8), done}, []float64{4, 4}, true},
		{"usage in part", []string{content("a"), grown("b", 8), done}, []float64{4, 4}, true},
		{"ids", []string{listed, listed, usage(6), done}, []float64{3, 3}, false},
		{"ids in part", []string{listed, content("a"), usage(5), done}, []float64{2.5, 2.5}, true},
		{"growth before ids", []string{strings.Replace(listed, `}]}`, `}],"usage":{"completion_tokens":2}}`, 1), done}, []float64{2}, false},
		{"spread", []string{content("a"), content("b"), usage(5), done}, []float64{2.5, 2.5}, true},
		{"the first choice only", []string{content("a"), other, content("b"), other, usage(4), done}, []float64{1, 1}, false},
		{"spread over all choices", []string{content("a"), other, usage(6), done}, []float64{3}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := run(0, false, tt.data...)
			var got []float64
			for _, ev := range r.Tokens {
				got = append(got, ev.Tokens)
			}
			if !reflect.DeepEqual(got, tt.want) || r.Estimated != tt.estimated {
				t.Errorf("got %v, estimated %v; want %v, %v", got, r.Estimated, tt.want, tt.estimated)
			}
		})
	}
}

// A usage that comes before more tokens does not count them.
func TestEarlyUsageIsNotFinal(t *testing.T) {
	r := run(0, true, grown("", 0), content("a"), content("b"))
	if r.OutputTokens != 2 || r.FromUsage {
		t.Errorf("%d tokens, from usage %v", r.OutputTokens, r.FromUsage)
	}
}

func TestFlags(t *testing.T) {
	three := []string{content("a"), content("b"), content("c")}
	with := func(more ...string) []string { return append(three[:3:3], more...) }
	if r := run(100, false, with(usage(3), done)...); !r.ShortOutput {
		t.Error("3 of exactly 100 tokens are not called short")
	}
	if r := run(0, false, with(usage(3), done)...); r.ShortOutput || r.TokenMismatch || r.Clumped || r.NotStreamed {
		t.Errorf("an ordinary answer is flagged: %+v", r)
	}
	if r := run(100, false, with(done)...); r.ShortOutput {
		t.Error("short by a count of events, which may hold many tokens each")
	}
	if r := run(3, false, with(usage(3), done)...); r.ShortOutput {
		t.Error("3 of exactly 3 tokens are called short")
	}
	if r := run(0, false, with(usage(2), done)...); !r.TokenMismatch || !r.Estimated {
		t.Errorf("usage 2, three events: %+v", r)
	}
}

func TestClumped(t *testing.T) {
	for _, tt := range []struct {
		pieces []int // events that come together
		want   bool
	}{
		{[]int{10}, true},
		{[]int{9}, false},
		{[]int{5, 1, 1, 1, 1, 1}, false},
		{[]int{6, 1, 1, 1, 1}, false},
		{[]int{7, 1, 1, 1}, true},
		{[]int{2, 2, 2, 2, 2}, false},
	} {
		var a Answer
		a.Reset(Chat, 0)
		for i, n := range tt.pieces {
			a.Feed([]byte(strings.Repeat("data: "+content("x")+"\n\n", n)), at(int64(i)))
		}
		a.Feed([]byte("data: [DONE]\n\n"), at(99))
		if r := a.Finish(99, false, eventStream); r.Clumped != tt.want {
			t.Errorf("%v: clumped %v", tt.pieces, r.Clumped)
		}
	}
}

func TestUnterminatedLastEvent(t *testing.T) {
	for _, tt := range []struct {
		rest   string
		want   Verdict
		tokens int
	}{
		{"data: [DONE]", Complete, 1},
		{"data: [DON", Truncated, 1},
		{"data: " + content("b") + "\n", Truncated, 2},
		{"data: " + content("b")[:20], Truncated, 1},
		{"data: " + `{"error":"m"}`, ServerError, 1},
	} {
		var a Answer
		a.Reset(Chat, 0)
		a.Feed([]byte("data: "+content("a")+"\n\n"+tt.rest), at(1))
		if r := a.Finish(2, true, eventStream); r.Verdict != tt.want || r.OutputTokens != tt.tokens {
			t.Errorf("%s: verdict %d, %d tokens", tt.rest, r.Verdict, r.OutputTokens)
		}
	}
}

func TestNotStreamed(t *testing.T) {
	body := ` {"choices":[{"index":0,"message":{"role":"assistant","content":"hi there"},"finish_reason":"stop"}],` +
		`"usage":{"prompt_tokens":8,"completion_tokens":2}}`
	for cut := range len(body) + 1 {
		var a Answer
		a.Reset(Chat, 0)
		if a.Feed([]byte(body[:cut]), at(1)) || a.Feed([]byte(body[cut:]), at(2)) {
			t.Fatal("over before the end of the body")
		}
		r := a.Finish(5, false, "application/json")
		want := Result{
			First: 5, Out: 5, Last: 5, End: 5, NotStreamed: true, OutputTokens: 2, FromUsage: true,
			PromptTokens: 8, Tokens: []TokenEvent{{at(5), 2}}, Choices: 1,
			FirstCame: at(5), OutCame: at(5), LastCame: at(5),
		}
		if !reflect.DeepEqual(r, want) {
			t.Fatalf("cut at %d: %+v", cut, r)
		}
	}
	for _, tt := range []struct {
		body, contentType string
		cut               bool
		want              Verdict
	}{
		{body[:40], "application/json", true, Truncated},
		{body[:40], "application/json", false, Malformed},
		{`{"error":{"message":"m"}}`, eventStream, false, ServerError},
		{`{"choices":[]}`, "application/json", false, Empty},
		{"<html><body>maintenance</body></html>", "text/html", false, Malformed},
		{"", "text/html", false, Empty},
	} {
		var a Answer
		a.Reset(Chat, 0)
		a.Feed([]byte(tt.body), at(1))
		if r := a.Finish(2, tt.cut, tt.contentType); r.Verdict != tt.want {
			t.Errorf("%q, cut %v: verdict %d, %q", tt.body, tt.cut, r.Verdict, r.Message)
		}
	}
}

func TestAnswerTooLong(t *testing.T) {
	for _, start := range []string{"{", "data: "} {
		var a Answer
		a.Reset(Chat, 0)
		piece := []byte(strings.Repeat("x", 1<<20))
		over := a.Feed([]byte(start), at(0))
		for n := 0; !over && n < 32; n++ {
			over = a.Feed(piece, at(0))
		}
		if r := a.Finish(0, false, eventStream); !over || r.Verdict != Malformed {
			t.Errorf("%q…: over %v, verdict %d", start, over, r.Verdict)
		}
	}
}

// The result does not depend on where the bytes are cut, and a used Answer
// serves as well as a new one.
func TestEverySplitAndReuse(t *testing.T) {
	stream := ": hi\r\n\r\ndata: " + role + "\r\n\r\ndata:" + think + "\n\ndata: " + content("😀") +
		"\n\ndata: " + finish + "\n\ndata: " + usage(2) + "\n\ndata: [DONE]\n\n"
	var a Answer
	feed := func(pieces ...string) Result {
		a.Reset(Chat, 2)
		for _, p := range pieces {
			a.Feed([]byte(p), at(7))
		}
		return a.Finish(8, false, eventStream)
	}
	want := feed(stream)
	if want.Verdict != Complete || want.OutputTokens != 2 || len(want.Tokens) != 2 {
		t.Fatalf("%+v", want)
	}
	for cut := range stream {
		if got := feed(stream[:cut], stream[cut:]); !reflect.DeepEqual(got, want) {
			t.Fatalf("cut at %d: %+v, want %+v", cut, got, want)
		}
	}
}

func TestFeedAllocatesNothing(t *testing.T) {
	for api, data := range tokenEvents {
		var a Answer
		a.Reset(api, 0)
		a.KeepText = true
		ev := []byte("event: x\ndata: " + data + "\n\n")
		for i := range int64(2000) { // room for the events of the runs below
			a.Feed(ev, at(i))
		}
		a.Reset(api, 0)
		now := int64(0)
		n := testing.AllocsPerRun(1000, func() {
			now++
			a.Feed(ev, at(now))
		})
		if n != 0 || a.Tokens() != 1001 {
			t.Errorf("%v: %v allocations an event, %d tokens", api, n, a.Tokens())
		}
	}
}

func BenchmarkFeed(b *testing.B) {
	var a Answer
	ev := []byte("data: " + content(" token") + "\n\n")
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if i%4096 == 0 {
			a.Reset(Chat, 0)
		}
		a.Feed(ev, at(1))
	}
}
