package openai

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// streamCase is a case of the corpus as far as it concerns an answer's body.
// Package load plays the whole of it, on a socket.
type streamCase struct {
	ID        string
	API       string
	Status    int
	Headers   map[string]string
	MaxTokens int  `json:"max_tokens"`
	Exact     bool `json:"exact_length"`
	Segments  []struct {
		AtMS int64 `json:"at_ms"`
		Raw  string
	}
	End    string
	Expect struct {
		Outcome, Kind string
		TTFT          *int64   `json:"ttft_ms"`
		TTFO          *int64   `json:"ttfo_ms"`
		E2E           *int64   `json:"e2e_ms"`
		ChunkGap      *float64 `json:"chunk_gap_ms"`
		ITL           *float64 `json:"itl_ms"`
		OutputTokens  *int     `json:"output_tokens"`
		Chunks        *int
		Choices       *int
		Text          *string
		Flag          json.RawMessage
	}
}

// streamCases returns the corpus's answers with status 2xx.
func streamCases(t testing.TB) []streamCase {
	t.Helper()
	raw, err := os.ReadFile("../testdata/streams.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []streamCase }
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	cases := slices.DeleteFunc(file.Cases, func(c streamCase) bool { return c.Status/100 != 2 })
	if len(cases) == 0 {
		t.Fatal("the corpus is empty")
	}
	return cases
}

func (c *streamCase) api(t testing.TB) API {
	api, err := ParseAPI(c.API)
	if err != nil {
		t.Fatal(err)
	}
	return api
}

func (c *streamCase) exactTokens() int {
	if c.Exact {
		return c.MaxTokens
	}
	return 0
}

func (c *streamCase) cut() bool { return c.End == "rst" || c.End == "fin" }

func (c *streamCase) body() string {
	var b strings.Builder
	for _, s := range c.Segments {
		b.WriteString(s.Raw)
	}
	return b.String()
}

var kinds = map[Verdict]string{
	Complete: "", Empty: "empty", Truncated: "truncated", ServerError: "error_in_stream", Malformed: "protocol",
}

// Each segment is fed at its due time, so that every time is known exactly.
func TestCorpusOnTime(t *testing.T) {
	for _, c := range streamCases(t) {
		t.Run(c.ID, func(t *testing.T) {
			var a Answer
			a.Reset(c.api(t), c.exactTokens())
			a.KeepText = true
			end := int64(0)
			for _, s := range c.Segments {
				end = s.AtMS
				a.Feed([]byte(s.Raw), at(end))
			}
			r := a.Finish(end, c.cut(), c.Headers["Content-Type"])
			want := c.Expect
			kind := want.Kind
			if kind == "reset" {
				kind = "truncated" // which of the two, the connection tells
			}
			if (r.Verdict == Complete) != (want.Outcome == "ok") || kinds[r.Verdict] != kind {
				t.Errorf("verdict %q, %q; want %s %q", kinds[r.Verdict], r.Message, want.Outcome, kind)
			}
			same(t, "ttft", want.TTFT, r.First)
			same(t, "ttfo", want.TTFO, r.Out)
			same(t, "e2e", want.E2E, r.Last)
			same(t, "output tokens", want.OutputTokens, r.OutputTokens)
			same(t, "chunks", want.Chunks, len(r.Tokens))
			same(t, "choices", want.Choices, r.Choices)
			same(t, "text", want.Text, r.Text)
			if n := len(r.Tokens); n > 1 {
				took, tokens := float64(r.Tokens[n-1].At-r.Tokens[0].At), 0.0
				for _, ev := range r.Tokens[1:] {
					tokens += ev.Tokens
				}
				same(t, "chunk gap", want.ChunkGap, took/float64(n-1))
				same(t, "itl", want.ITL, took/tokens)
			}
			flags := map[string]bool{
				"short_output": r.ShortOutput, "token_mismatch": r.TokenMismatch, "clumped": r.Clumped, "not_streamed": r.NotStreamed,
			}
			for flag, set := range flags {
				if want.Flag != nil && set != (string(want.Flag) == `"`+flag+`"`) {
					t.Errorf("flag %s is %v, want %s", flag, set, want.Flag)
				}
			}
		})
	}
}

// same checks what a case says, and lets pass what it does not.
func same[T comparable](t *testing.T, what string, want *T, got T) {
	t.Helper()
	if want != nil && got != *want {
		t.Errorf("%s %v, want %v", what, got, *want)
	}
}

// A Result never depends on where the body is cut: nor do its times, where the
// pieces are of one read. Under the race detector, which has nothing to find
// here and makes it ten times slower, not every split is tried.
func TestCorpusAtEverySplit(t *testing.T) {
	for _, c := range streamCases(t) {
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			var a Answer
			a.KeepText = true
			api, body := c.api(t), c.body()
			feed := func(later int64, pieces ...string) Result {
				a.Reset(api, c.exactTokens())
				for i, p := range pieces {
					a.Feed([]byte(p), Received{NotBefore: 1 + later*int64(i), At: 5 + later*int64(i), Read: 6 + later*int64(i)})
				}
				return a.Finish(1_000_000, c.cut(), c.Headers["Content-Type"])
			}
			whole := feed(0, body)
			timeless := withoutTimes(whole)
			for cut := 0; cut <= len(body); cut += splitStep {
				if got := withoutTimes(feed(10, body[:cut], body[cut:])); !equal(got, timeless) {
					t.Fatalf("cut at %d: %+v, want %+v", cut, got, timeless)
				}
			}
			bytes := make([]string, 0, len(body)) // strings.Split would cut at runes
			for i := range len(body) {
				bytes = append(bytes, body[i:i+1])
			}
			if got := feed(0, bytes...); !equal(got, whole) {
				t.Fatalf("byte by byte, in one read: %+v, want %+v", got, whole)
			}
			if got := withoutTimes(feed(10, bytes...)); !equal(got, timeless) {
				t.Fatalf("byte by byte: %+v, want %+v", got, timeless)
			}
		})
	}
}

// equal is reflect.DeepEqual, but quick where there are many tokens.
func equal(a, b Result) bool {
	if !slices.Equal(a.Tokens, b.Tokens) {
		return false
	}
	a.Tokens, b.Tokens = nil, nil
	return reflect.DeepEqual(a, b)
}

// withoutTimes clears what follows from when bytes came, but keeps whether they
// came at all.
func withoutTimes(r Result) Result {
	for _, at := range []*int64{&r.First, &r.Out, &r.Last, &r.End} {
		if *at != Never {
			*at = 0
		}
	}
	r.FirstCame, r.OutCame, r.LastCame = Received{}, Received{}, Received{}
	r.Tokens = slices.Clone(r.Tokens)
	for i := range r.Tokens {
		r.Tokens[i].Received = Received{}
	}
	r.Clumped = false
	return r
}

// Whatever bytes come, in any dialect and cut anywhere, nothing panics, the
// Result does not depend on the cut, and its instants are in order.
func FuzzAnswer(f *testing.F) {
	for i, c := range streamCases(f) {
		f.Add(uint8(c.api(f)), []byte(c.body()), i*13, i*29, i%3 == 0)
	}
	f.Add(uint8(Embeddings), []byte(`{"data":[{"embedding":[0.5]}],"usage":{"prompt_tokens":1}}`), 3, 9, false)
	f.Add(uint8(Responses), []byte(wholeResponse), 3, 9, false)
	f.Add(uint8(Responses), []byte("data: {\"type\":\"response.completed\",\"response\":"+wholeResponse+"}\r\n\r\n"), 3, 9, false)
	f.Fuzz(func(t *testing.T, api uint8, body []byte, i, j int, cut bool) {
		i = min(max(i, 0), len(body))
		j = min(max(j, i), len(body))
		var a Answer
		feed := func(later int64, pieces ...[]byte) Result {
			a.Reset(apis[int(api)%len(apis)], 3)
			a.KeepText = true
			before := 0
			for n, p := range pieces {
				from := later * int64(n)
				a.Feed(p, Received{NotBefore: 1 + from, At: 5 + from, Read: 6 + from})
				if a.Tokens() < before {
					t.Errorf("%d tokens so far, after %d", a.Tokens(), before)
				}
				before = a.Tokens()
			}
			return a.Finish(1000, cut, eventStream)
		}
		whole := feed(0, body)
		if got := feed(0, body[:i], body[i:j], body[j:]); !equal(got, whole) {
			t.Errorf("cut at %d and %d: %+v, want %+v", i, j, got, whole)
		}
		r := feed(10, body[:i], body[i:j], body[j:])
		if got, want := withoutTimes(r), withoutTimes(whole); !equal(got, want) {
			t.Errorf("in three reads: %+v, want %+v", got, want)
		}
		if (r.First == Never) != (r.Last == Never) || r.Out != Never && (r.Out < r.First || r.Out > r.Last) ||
			r.First > r.Last || r.Last > r.End {
			t.Errorf("first %d, out %d, last %d, end %d", r.First, r.Out, r.Last, r.End)
		}
		if r.Verdict == Complete && r.First == Never || (r.Verdict == Complete) != (r.Message == "") {
			t.Errorf("verdict %d, %q: %+v", r.Verdict, r.Message, r)
		}
	})
}
