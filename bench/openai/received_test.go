package openai

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// read is the i-th read of a socket: its bytes came in (100·i, 100·i+50].
func read(i int64) Received { return Received{NotBefore: 100 * i, At: 100*i + 50, Read: 100*i + 60} }

// frame frames events.
func frame(data ...string) string { return "data: " + strings.Join(data, "\n\ndata: ") + "\n\n" }

// feedReads feeds the reads, each one cut into pieces of the given size, and
// ends the body at 10,000.
func feedReads(size int, reads ...string) Result {
	var a Answer
	a.Reset(Chat, 0)
	for i, r := range reads {
		for len(r) > 0 {
			n := min(size, len(r))
			a.Feed([]byte(r[:n]), read(int64(i)))
			r = r[n:]
		}
	}
	return a.Finish(10_000, false, eventStream)
}

func TestOnlyTheNewestEventOfAReadIsExact(t *testing.T) {
	x := frame(content("x"))
	for _, tt := range []struct {
		name  string
		reads []string
		exact []bool // of each token-bearing event
	}{
		{"one a read", []string{x, x}, []bool{true, true}},
		{"two in a read", []string{x + x, x}, []bool{false, true, true}},
		{"a role behind", []string{x + frame(role)}, []bool{false}},
		{"usage behind", []string{x + frame(usage(1))}, []bool{false}},
		{"[DONE] behind", []string{x + frame(done)}, []bool{false}},
		{"an error behind", []string{x + frame(`{"error":"m"}`)}, []bool{false}},
		{"garbage behind", []string{x + frame(`{oops`)}, []bool{false}},
		{"a comment behind", []string{x + ": ping\n\n"}, []bool{false}},
		{"half an event behind", []string{x + x[:9], x[9:]}, []bool{false, true}},
		{"one byte behind", []string{x + x[:1], x[1:]}, []bool{false, true}},
		{"in front", []string{frame(role) + ": ping\n\n" + x}, []bool{true}},
		{"begun in the read before", []string{x[:9], x[9:]}, []bool{true}},
		{"line ends of two bytes", []string{strings.ReplaceAll(x, "\n", "\r\n")}, []bool{true}},
		{"the line feed a read later", []string{strings.TrimSuffix(x, "\n\n") + "\r\n\r", "\n" + x}, []bool{true, true}},
		{"[DONE] in the next read", []string{x, frame(done)}, []bool{true}},
		{"unterminated [DONE]", []string{x, x + "data: [DONE]"}, []bool{true, false}},
		{
			"several choices in one event",
			[]string{frame(`{"choices":[{"index":0,"delta":{"content":"x"}},{"index":0,"delta":{"content":"y"}}]}`)},
			[]bool{true, true},
		},
		{
			"several choices in one event, and more behind",
			[]string{frame(`{"choices":[{"index":0,"delta":{"content":"x"}},{"index":0,"delta":{"content":"y"}}]}`, finish)},
			[]bool{false, false},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for size := range len(strings.Join(tt.reads, "")) {
				r := feedReads(size+1, tt.reads...)
				var exact []bool
				for _, ev := range r.Tokens {
					i := ev.At / 100
					if want := read(i); ev.At != want.At || ev.Read != want.Read || ev.NotBefore != want.NotBefore && ev.NotBefore != ev.At {
						t.Errorf("in pieces of %d: came %+v", size+1, ev.Received)
					}
					exact = append(exact, ev.NotBefore == ev.At)
				}
				if !reflect.DeepEqual(exact, tt.exact) {
					t.Fatalf("in pieces of %d: exact %v, want %v", size+1, exact, tt.exact)
				}
			}
		})
	}
}

// The exactness of First, Out and Last is that of their events, of any choice.
func TestFirstOutAndLastCame(t *testing.T) {
	other := `{"choices":[{"index":1,"delta":{"content":"x"}}]}`
	thought := `{"choices":[{"index":1,"delta":{"reasoning":"x"}}]}`
	exactly := func(i int64) Received {
		r := read(i)
		r.NotBefore = r.At
		return r
	}
	r := feedReads(1000, frame(thought), frame(content("a"), role), frame(content("b"), other), frame(done))
	if r.FirstCame != exactly(0) || r.OutCame != read(1) || r.LastCame != exactly(2) ||
		r.First != 50 || r.Out != 150 || r.Last != 250 {
		t.Errorf("%+v", r)
	}
	if r.Choices != 2 {
		t.Errorf("%d choices", r.Choices)
	}
	if r := feedReads(1000, frame(role, done)); r.FirstCame != (Received{}) || r.OutCame != (Received{}) || r.LastCame != (Received{}) || r.Choices != 0 {
		t.Errorf("no token: %+v", r)
	}
}

// Instants that are measured apart may seem to go back; those of a Result don't.
func TestInstantsNeverGoBack(t *testing.T) {
	var a Answer
	a.Reset(Chat, 0)
	a.Feed([]byte(frame(content("a"))), at(-50))
	a.Feed([]byte(frame(content("b"))), at(-53))
	a.Feed([]byte(frame(content("c"))), Received{NotBefore: -60, At: -52, Read: -40})
	r := a.Finish(-54, false, eventStream)
	if r.First != -50 || r.Last != -50 || r.End != -50 || r.LastCame != (Received{NotBefore: -50, At: -50, Read: -40}) {
		t.Errorf("%+v", r)
	}
}

// However a read is cut into pieces, the answer is the same, and each event's
// interval holds the instant at which its last byte came.
func TestIntervalsHoldTheTruth(t *testing.T) {
	piece := rapid.SampledFrom([]string{
		frame(content("x")), frame(think), frame(role), frame(usage(3)), ": ping\n\n", "\n",
		strings.ReplaceAll(frame(content("y")), "\n", "\r\n"), frame(grown("z", 2)),
	})
	rapid.Check(t, func(t *rapid.T) {
		// Each byte of the stream has an instant of its own: its place.
		stream := strings.Join(rapid.SliceOfN(piece, 1, 6).Draw(t, "stream"), "")
		var reads []string
		var came []Received
		for from := 0; from < len(stream); {
			to := rapid.IntRange(from+1, len(stream)).Draw(t, "read")
			reads = append(reads, stream[from:to])
			came = append(came, Received{NotBefore: int64(from) - 1, At: int64(to) - 1, Read: int64(to)})
			from = to
		}
		feed := func(size int) Result {
			var a Answer
			a.Reset(Chat, 0)
			for i, r := range reads {
				for ; len(r) > size; r = r[size:] {
					a.Feed([]byte(r[:size]), came[i])
				}
				a.Feed([]byte(r), came[i])
			}
			return a.Finish(int64(len(stream)), false, eventStream)
		}
		whole := feed(len(stream))
		if pieces := feed(rapid.IntRange(1, 40).Draw(t, "size")); !reflect.DeepEqual(pieces, whole) {
			t.Fatalf("in pieces: %+v, want %+v", pieces, whole)
		}
		var truth []int64
		for at := range stream {
			before := feedTokens(stream[:at])
			if feedTokens(stream[:at+1]) > before {
				truth = append(truth, int64(at))
			}
		}
		if len(truth) != len(whole.Tokens) {
			t.Fatalf("%d events, want %d", len(whole.Tokens), len(truth))
		}
		for i, ev := range whole.Tokens {
			exact := ev.NotBefore == ev.At
			// The line feed of a final CR LF may come behind the event's last byte.
			late := int64(0)
			if int(truth[i])+1 < len(stream) && stream[truth[i]] == '\r' && stream[truth[i]+1] == '\n' {
				late = 1
			}
			if truth[i] > ev.At || exact && truth[i] < ev.At-late || !exact && truth[i] <= ev.NotBefore {
				t.Fatalf("event %d came at %d, not in %+v", i, truth[i], ev.Received)
			}
		}
	})
}

// feedTokens returns how many token-bearing events a part of a chat completes.
func feedTokens(stream string) int {
	var a Answer
	a.Reset(Chat, 0)
	a.Feed([]byte(stream), at(0))
	return len(a.tokens.events)
}

func TestTokensSoFar(t *testing.T) {
	listed := `{"choices":[{"index":0,"delta":{"content":"x"},"token_ids":[1,2,3]}]}`
	other := `{"choices":[{"index":1,"delta":{"content":"x"}}]}`
	for _, tt := range []struct {
		name string
		data []string
		want []int
	}{
		{"events", []string{role, content("a"), other, finish, done}, []int{0, 1, 2, 2, 2}},
		{"listed", []string{listed, content("a"), listed}, []int{3, 4, 7}},
		{"usage grows", []string{grown("", 0), grown("a", 4), grown("b", 6)}, []int{0, 4, 6}},
		{"usage now and then", []string{content("a"), grown("b", 8), content("c")}, []int{1, 8, 9}},
		{"usage before a token", []string{grown("", 5), content("a")}, []int{0, 1}},
		{"usage that lags", []string{grown("a", 0), grown("b", 0)}, []int{1, 2}},
		{"usage at the end", []string{content("a"), usage(5), done}, []int{1, 5, 5}},
	} {
		var a Answer
		a.Reset(Chat, 0)
		var got []int
		for i, d := range tt.data {
			a.Feed([]byte(frame(d)), at(int64(i)))
			got = append(got, a.Tokens())
		}
		if !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
		if a.Reset(Chat, 0); a.Tokens() != 0 {
			t.Errorf("%s: %d tokens after Reset", tt.name, a.Tokens())
		}
	}
}

func TestText(t *testing.T) {
	choice := func(i int, said string) string {
		return fmt.Sprintf(`{"choices":[{"index":%d,"delta":{%s}}]}`, i, said)
	}
	data := []string{
		choice(1, `"role":"assistant","content":""`),
		choice(1, `"reasoning":"hm"`),
		choice(0, `"content":"other"`),
		choice(1, `"content":"a\n"`),
		choice(1, `"tool_calls":[{"function":{"name":"f","arguments":"{}"}}]`),
		choice(1, `"refusal":"no"`),
		`{"choices":[{"index":0,"delta":{"content":"x"}},{"index":1,"delta":{"content":"😀"}}]}`,
		done,
	}
	if r := run(0, false, data...); r.Text != "a\n😀" {
		t.Errorf("the text of the first choice that spoke is %q", r.Text)
	}
	var a Answer
	a.KeepText = true
	for _, keep := range []bool{true, true, false} { // Reset keeps the choice, not the text
		a.Reset(Chat, 0)
		a.KeepText = a.KeepText && keep
		a.Feed([]byte(frame(content("a"), done)), at(1))
		if r := a.Finish(2, false, eventStream); (r.Text == "a") != keep {
			t.Errorf("kept %v: text %q", keep, r.Text)
		}
	}
}
