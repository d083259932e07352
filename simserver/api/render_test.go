package api

import (
	"bufio"
	"bytes"
	"io"
	"net/http/httputil"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"llmsim-bench/simserver/plan"
)

var testHead = chunk{ID: "chatcmpl-1", Object: "chat.completion.chunk", Created: 1700000000, Model: `mo"del é`}

// testEvent is an event of the choice.
func testEvent(choice any) chunk {
	c := testHead
	c.Choices = []any{choice}
	return c
}

// The bytes of a rendered token must be those of a plain JSON encoder.
func TestRenderedTokenEqualsTheEncoder(t *testing.T) {
	r := newEventRenderer(testEvent(chatForm{}.token(3, plan.Content, false)), false, false)
	check := func(text string) string {
		want := appendEvent(nil, marshal(testEvent(chatChunkChoice{Index: 3, Delta: chatDelta{Content: &text}})))
		got := r.appendToken(nil, untilClose, text, nil)
		if !bytes.Equal(got, want) {
			return "got  " + string(got) + "want " + string(want)
		}
		return ""
	}
	for _, text := range []string{
		"", " word", `"`, `\`, "\n", "\x00", "\x7f", "<&>", "é", "日本", "🙂", "\u2028", "\u2029", "\xff", "a\xc3", "\ufffd",
	} {
		if diff := check(text); diff != "" {
			t.Errorf("%q:\n%s", text, diff)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "text")
		if diff := check(text); diff != "" {
			t.Fatal(diff)
		}
	})
}

// Frames must be what a chunked reader takes apart again.
func TestFramesAreChunks(t *testing.T) {
	var framed []byte
	var want strings.Builder
	for _, size := range []int{1, 9, 15, 16, 255, 256, 4095, 4096, 70000} {
		data := strings.Repeat("x", size)
		want.WriteString(data)
		framed = chunked.appendFramed(framed, []byte(data))
	}
	if framed[0] == '0' {
		t.Errorf("a chunk's size begins with a zero: %q", framed[:8])
	}
	framed = append(framed, "0\r\n\r\n"...)
	got, err := io.ReadAll(httputil.NewChunkedReader(bufio.NewReader(bytes.NewReader(framed))))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want.String() {
		t.Error("the chunks do not hold what was framed")
	}
}

func TestRenderingATokenDoesNotAllocate(t *testing.T) {
	r := newEventRenderer(testEvent(chatForm{}.token(0, plan.Content, false)), false, false)
	buf := make([]byte, 0, 4096)
	for _, text := range []string{" word", "日", `{"a":`, "\n", "\x01\xff\u2028"} {
		if n := testing.AllocsPerRun(100, func() { buf = r.appendToken(buf[:0], chunked, text, nil) }); n > 0 {
			t.Errorf("%q: %v allocations a token", text, n)
		}
	}
}

func BenchmarkRenderToken(b *testing.B) {
	r := newEventRenderer(testEvent(chatForm{}.token(0, plan.Content, false)), false, false)
	buf := make([]byte, 0, 4096)
	b.ReportAllocs()
	for b.Loop() {
		buf = r.appendToken(buf[:0], chunked, " word", nil)
	}
	b.SetBytes(int64(len(buf)))
}
