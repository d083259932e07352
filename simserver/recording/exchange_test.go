package recording

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// exchangeOf is a complete exchange whose answer came in pieces, one a second.
func exchangeOf(status int, contentType string, pieces ...string) *Exchange {
	e := &Exchange{
		ID: "1", Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Upstream: "http://up/v1",
		Request:  Request{Method: "POST", Path: "/v1/chat/completions", Headers: map[string][]string{}, Body: []byte(`{"model":"m"}`)},
		Response: &Response{Status: status, Headers: map[string][]string{"Content-Type": {contentType}}},
		End:      End{Complete: true},
	}
	for i, p := range pieces {
		e.Response.Segments = append(e.Response.Segments, Segment{AtNS: int64(time.Second) * int64(i+1), Data: []byte(p)})
	}
	return e
}

func TestWriteAndRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.json")
	e := exchangeOf(200, "text/event-stream", "data: <a> & \u2028\n", "\xe6\x97", "\xa5\n\n", "")
	if err := e.Write(path); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v, want 0600: %v", info.Mode(), err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"kind": "llmsim-exchange"`, `"text": "data: <a> & `, `"base64": "5pc="`, `"at_ns": 3000000000`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the file has no %s:\n%s", want, text)
		}
	}
	got, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	got.Request.Body = bytes.ReplaceAll(bytes.ReplaceAll(got.Request.Body, []byte("\n"), nil), []byte(" "), nil)
	if !reflect.DeepEqual(got, e) {
		t.Errorf("read %+v\nwrote %+v", got, e)
	}
}

func TestSegmentsSurvive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := exchangeOf(200, "text/event-stream")
		at := int64(0)
		for _, data := range rapid.SliceOf(rapid.SliceOf(rapid.Byte())).Draw(t, "pieces") {
			at += rapid.Int64Range(0, 1e10).Draw(t, "gap")
			e.Response.Segments = append(e.Response.Segments, Segment{at, data})
		}
		data, err := e.Encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Response.Segments) != len(e.Response.Segments) {
			t.Fatalf("%d segments of %d", len(got.Response.Segments), len(e.Response.Segments))
		}
		for i, s := range got.Response.Segments {
			if s.AtNS != e.Response.Segments[i].AtNS || !bytes.Equal(s.Data, e.Response.Segments[i].Data) {
				t.Fatalf("segment %d: %v", i, s)
			}
		}
	})
}

func TestReadRefuses(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct{ file, want string }{
		"text":     {"hello", "is not a recorded exchange: invalid character 'h'"},
		"other":    {`{"schema":1}`, `is not a recorded exchange: kind is "", must be "llmsim-exchange"`},
		"newer":    {`{"kind":"llmsim-exchange","schema":2}`, "schema 2 is not known, must be 1: record it again with this version"},
		"broken":   {`{"kind":"llmsim-exchange","schema":1,"response":[]}`, "is not a recorded exchange of schema 1: json: cannot unmarshal array"},
		"backward": {`{"kind":"llmsim-exchange","schema":1,"response":{"segments":[{"at_ns":5},{"at_ns":4}]}}`, "response.segments[1].at_ns: 4, must be 5 or more"},
		"late": {
			`{"kind":"llmsim-exchange","schema":1,"response":{"segments":[{"at_ns":604800000000000},{"at_ns":604800000000001}]}}`,
			"response.segments[1].at_ns: 604800000000001, must be 604800000000000 (7 days) or less",
		},
		"lateHead": {`{"kind":"llmsim-exchange","schema":1,"response":{"head_ns":9223372036854775807}}`, "response.head_ns: 9223372036854775807, must be 604800000000000 (7 days)"},
		"lateEnd":  {`{"kind":"llmsim-exchange","schema":1,"end":{"at_ns":9223372036854775807}}`, "end.at_ns: 9223372036854775807, must be 604800000000000 (7 days)"},
		"early":    {`{"kind":"llmsim-exchange","schema":1,"response":{"segments":[{"at_ns":-1}]}}`, "response.segments[0].at_ns: -1, must be 0 or more"},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(c.file), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(path); err == nil || !strings.HasPrefix(err.Error(), path+": "+c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	if _, err := Read(filepath.Join(dir, "nothing")); !os.IsNotExist(err) {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), "is not a file") {
		t.Errorf("a directory: %v", err)
	}
}

// gzipped compresses texts, each flushed into a piece of its own.
func gzipped(t *testing.T, texts ...string) (pieces []string) {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	take := func() { pieces = append(pieces, b.String()); b.Reset() }
	for _, text := range texts {
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		take()
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	take()
	return pieces
}

func TestDecodeKeepsTheTimes(t *testing.T) {
	texts := []string{"data: one\n\n", "data: two\n\n", strings.Repeat("data: three\n\n", 10_000)}
	pieces := gzipped(t, texts...)
	// Where pieces are cut, what was begun belongs to the piece that completes it.
	pieces = []string{pieces[0][:5], pieces[0][5:], pieces[1], pieces[2], pieces[3]}
	for _, cut := range []int{0, 1} {
		e := exchangeOf(200, "text/event-stream", pieces[:len(pieces)-cut]...)
		e.Response.Headers["Content-Encoding"] = []string{"gzip"}
		for range 2 { // a second time changes nothing
			if err := e.Response.Decode(); err != nil {
				t.Error(err)
			}
		}
		var got []string
		var at []int64
		for _, s := range e.Response.Segments {
			got, at = append(got, string(s.Data)), append(at, s.AtNS/int64(time.Second))
		}
		if e.Response.Decoded != "gzip" || !reflect.DeepEqual(got, texts) || !reflect.DeepEqual(at, []int64{2, 3, 4}) {
			t.Errorf("decoded %q into %d segments at %v", e.Response.Decoded, len(got), at)
		}
	}
	for _, encoding := range []string{"gzip", "br"} {
		e := exchangeOf(200, "text/event-stream", "plain")
		e.Response.Headers["Content-Encoding"] = []string{encoding}
		if err := e.Response.Decode(); err == nil || e.Response.Decoded != "" || string(e.Response.body()) != "plain" {
			t.Errorf("%s: what is not gzip became %q", encoding, e.Response.body())
		}
	}
}

func TestDecodeIsBounded(t *testing.T) {
	text := strings.Repeat("long ", 20_000)
	e := exchangeOf(200, "text/event-stream", gzipped(t, text)...)
	e.Response.Headers["Content-Encoding"] = []string{"gzip"}
	want := `the response has the content encoding "gzip", which can't be taken off: it has more than 99999 bytes`
	if err := e.Response.decode(len(text) - 1); err == nil || err.Error() != want || e.Response.Decoded != "" {
		t.Errorf("decoded %q: %v, want %s", e.Response.Decoded, err, want)
	}
	if err := e.Response.decode(len(text)); err != nil || string(e.Response.body()) != text {
		t.Errorf("decoded to %d bytes: %v", len(e.Response.body()), err)
	}
}
