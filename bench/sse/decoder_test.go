package sse

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// got is an Event that outlives its callback.
type got struct {
	Name, Data   string
	Unterminated bool
}

// decode feeds the pieces and returns the events, and how Feed or End failed.
func decode(maxEvent int, pieces ...string) ([]got, error) {
	d := Decoder{MaxEvent: maxEvent}
	var events []got
	emit := func(ev Event) error {
		events = append(events, got{string(ev.Name), string(ev.Data), ev.Unterminated})
		return nil
	}
	for _, p := range pieces {
		// A private copy that is spoilt afterwards: the decoder must keep no
		// reference to the caller's bytes.
		b := []byte(p)
		if err := d.Feed(b, emit); err != nil {
			return events, err
		}
		for i := range b {
			b[i] = '#'
		}
	}
	return events, d.End(emit)
}

func message(data string) got { return got{Data: data} }

var streams = []struct {
	name, in string
	want     []got
}{
	{"one", "data: a\n\n", []got{message("a")}},
	{"two", "data: a\n\ndata: b\n\n", []got{message("a"), message("b")}},
	{"cr", "data: a\r\rdata: b\r\r", []got{message("a"), message("b")}},
	{"crlf", "data: a\r\n\r\ndata: b\r\n\r\n", []got{message("a"), message("b")}},
	{"mixed ends", "data: a\r\n\ndata: b\n\rdata: c\r\r\n", []got{message("a"), message("b"), message("c")}},
	{"no space", "data:a\n\n", []got{message("a")}},
	{"only one space goes", "data:  a\n\n", []got{message(" a")}},
	{"several data lines", "data: a\ndata\ndata: b\n\n", []got{message("a\n\nb")}},
	{"empty data", "data:\n\ndata: \n\ndata\n\n", []got{message(""), message(""), message("")}},
	{"colon in value", "data: a: b\n\n", []got{message("a: b")}},
	{"comments", ": ping\n\n:\ndata: a\n: b\ndata: c\n\n", []got{message("a\nc")}},
	{"named", "event: error\ndata: a\n\ndata: b\n\n", []got{{Name: "error", Data: "a"}, message("b")}},
	{"a name without data is no event", "event: x\n\ndata: a\n\n", []got{message("a")}},
	{"other fields", "id: 1\nretry: 3\nDATA: x\ndatax: y\n data: z\ndata: a\n\n", []got{message("a")}},
	{"byte order mark", "\xef\xbb\xbfdata: a\n\n", []got{message("a")}},
	{"a mark alone", "\xef\xbb\xbf\n\xef\xbb\xbfdata: a\n\ndata: b\n\n", []got{message("b")}},
	{"two marks", "\xef\xbb\xbf\xef\xbb\xbfdata: a\n\ndata: b\n\n", []got{message("b")}},
	{"a later mark", "data: a\n\n\xef\xbb\xbfdata: b\n\n", []got{message("a")}},
	{"blank lines", "\n\r\n\r\rdata: a\n\n\n\n", []got{message("a")}},
	{"unterminated after the line", "data: a\n\ndata: b\n", []got{message("a"), {Data: "b", Unterminated: true}}},
	{"unterminated in the line", "event: x\ndata: a\ndata: b", []got{{Name: "x", Data: "a\nb", Unterminated: true}}},
	{"unterminated, mark first", "\xef\xbb\xbfdata: a", []got{{Data: "a", Unterminated: true}}},
	{"cut in a field name", "data: a\nda", []got{{Data: "a", Unterminated: true}}},
	{"a cut comment", ": pi", nil},
	{"nothing", "", nil},
	{"utf-8", "data: 😀\n\n", []got{message("😀")}},
}

func TestDecodeAtEverySplit(t *testing.T) {
	for _, tt := range streams {
		t.Run(tt.name, func(t *testing.T) {
			for cut := range len(tt.in) + 1 {
				events, err := decode(0, tt.in[:cut], tt.in[cut:])
				if err != nil || !slices.Equal(events, tt.want) {
					t.Fatalf("cut at %d: got %+v, %v; want %+v", cut, events, err, tt.want)
				}
			}
			events, err := decode(0, strings.Split(tt.in, "")...)
			if err != nil || !slices.Equal(events, tt.want) {
				t.Fatalf("rune by rune: got %+v, %v; want %+v", events, err, tt.want)
			}
		})
	}
}

// An event comes out with the byte that completes it, not with one after it.
func TestEventComesWithItsLastByte(t *testing.T) {
	for _, end := range []string{"\n\n", "\r\r", "\r\n\r"} {
		var d Decoder
		n := 0
		emit := func(Event) error { n++; return nil }
		in := "data: a" + end
		if err := d.Feed([]byte(in[:len(in)-1]), emit); err != nil || n != 0 {
			t.Fatalf("%q: %d events before the last byte, %v", in, n, err)
		}
		if err := d.Feed([]byte(in[len(in)-1:]), emit); err != nil || n != 1 {
			t.Fatalf("%q: %d events with the last byte, %v", in, n, err)
		}
	}
}

// Whatever follows an event is trailing, but not the end of its own last line.
func TestTrailing(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want bool
	}{
		{"", false},
		{"d", true},
		{"data: a\n", true},
		{"data: a\n\n", false},
		{"data: a\r\r", false},
		{"data: a\r\n\r", false},
		{"data: a\r\n\r\n", false},
		{"data: a\n\n\n", true},
		{"data: a\r\n\r\n\r\n", true},
		{"data: a\n\n:", true},
		{"data: a\n\n: ping\n\n", true},
		{"event: x\n\n", true},
		{"data: a\n\nd", true},
		{"data: a\n\ndata: b\n\n", false},
	} {
		for cut := range len(tt.in) + 1 {
			var d Decoder
			for _, p := range []string{tt.in[:cut], tt.in[cut:]} {
				if err := d.Feed([]byte(p), func(Event) error { return nil }); err != nil {
					t.Fatal(err)
				}
			}
			if d.Trailing() != tt.want {
				t.Errorf("%q cut at %d: %v", tt.in, cut, d.Trailing())
			}
			if d.Reset(); d.Trailing() {
				t.Errorf("%q: trailing after Reset", tt.in)
			}
		}
	}
}

func TestTooLong(t *testing.T) {
	for _, in := range []string{
		"data: 0123456789", "data: 0123456789\n\n", ": 0123456789abc\n",
		"data: 0\ndata: 1\ndata: 2\ndata: 3\ndata: 4\n\n", "event: 01\ndata: 01234\n\n",
	} {
		for cut := range len(in) + 1 {
			events, err := decode(12, in[:cut], in[cut:])
			if !errors.Is(err, ErrTooLong) || len(events) != 0 {
				t.Errorf("%q cut at %d: %+v, %v", in, cut, events, err)
			}
		}
	}
	if events, err := decode(12, "data: 012345\n\ndata: 012345\n\n"); err != nil || len(events) != 2 {
		t.Errorf("events at the limit: %+v, %v", events, err)
	}
}

func TestEmitErrorStops(t *testing.T) {
	stop := errors.New("stop")
	var d Decoder
	n := 0
	emit := func(Event) error { n++; return stop }
	if err := d.Feed([]byte("data: a\n\ndata: b\n\n"), emit); !errors.Is(err, stop) || n != 1 {
		t.Fatalf("%d events, %v", n, err)
	}
	d.Reset()
	if err := d.Feed([]byte("data: c\n\n"), emit); !errors.Is(err, stop) || n != 2 {
		t.Fatalf("after Reset: %d events, %v", n, err)
	}
}

// Whatever events are written, in whatever way the standard allows and cut
// anywhere, are read back.
func TestReadsWhatWasWritten(t *testing.T) {
	text := rapid.StringMatching(`[^\r\n]{0,12}`)
	end := rapid.SampledFrom([]string{"\n", "\r", "\r\n"})
	rapid.Check(t, func(t *rapid.T) {
		var in strings.Builder
		var want []got
		for range rapid.IntRange(0, 5).Draw(t, "events") {
			ev := got{Name: text.Draw(t, "name")}
			fmt.Fprintf(&in, "event: %s%s", ev.Name, end.Draw(t, "end"))
			lines := rapid.SliceOfN(text, 1, 3).Draw(t, "lines")
			for _, l := range lines {
				if rapid.Bool().Draw(t, "comment") {
					fmt.Fprintf(&in, ":%s%s", text.Draw(t, "text"), end.Draw(t, "end"))
				}
				fmt.Fprintf(&in, "data: %s%s", l, end.Draw(t, "end"))
			}
			// A lone line feed here would join a CR before it to one line end.
			in.WriteString("\r\n\r\n")
			ev.Data = strings.Join(lines, "\n")
			want = append(want, ev)
		}
		s := in.String()
		a := rapid.IntRange(0, len(s)).Draw(t, "a")
		b := rapid.IntRange(a, len(s)).Draw(t, "b")
		events, err := decode(0, s[:a], s[a:b], s[b:])
		if err != nil || !slices.Equal(events, want) {
			t.Fatalf("%q: got %+v, %v; want %+v", s, events, err, want)
		}
	})
}

func FuzzSplit(f *testing.F) {
	for i, tt := range streams {
		f.Add(tt.in, i, i+3)
	}
	f.Fuzz(func(t *testing.T, in string, a, b int) {
		a = min(max(a, 0), len(in))
		b = min(max(b, a), len(in))
		whole, wholeErr := decode(64, in)
		cut, cutErr := decode(64, in[:a], in[a:b], in[b:])
		if !slices.Equal(whole, cut) || (wholeErr == nil) != (cutErr == nil) {
			t.Fatalf("%q: whole %+v, %v; cut at %d and %d %+v, %v", in, whole, wholeErr, a, b, cut, cutErr)
		}
	})
}

func TestNoAllocationOnceWarm(t *testing.T) {
	var d Decoder
	emit := func(Event) error { return nil }
	in := []byte("event: message\ndata: {\"choices\": []}\n\n")
	feed := func() {
		for _, part := range [][]byte{in[:20], in[20:]} {
			if err := d.Feed(part, emit); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := testing.AllocsPerRun(100, feed); n != 0 {
		t.Errorf("%v allocations an event", n)
	}
}

func BenchmarkFeed(b *testing.B) {
	var d Decoder
	emit := func(Event) error { return nil }
	in := []byte(`data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m",` +
		`"choices":[{"index":0,"delta":{"content":" token"},"finish_reason":null}]}` + "\n\n")
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		if err := d.Feed(in, emit); err != nil {
			b.Fatal(err)
		}
	}
}
