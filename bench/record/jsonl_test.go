package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"llmsim-bench/internal/wire"
)

func drawRequest(t *rapid.T) *Request {
	instant := rapid.Custom(func(t *rapid.T) Instant {
		if rapid.Bool().Draw(t, "came") {
			return Instant(rapid.Int64().Draw(t, "at"))
		}
		return Unset
	})
	r := New()
	r.ID = rapid.Int64().Draw(t, "id")
	r.Point = rapid.Int().Draw(t, "point")
	r.Phase = rapid.String().Draw(t, "phase")
	for _, i := range []*Instant{
		&r.Sched, &r.Dispatch, &r.Slot, &r.Conn, &r.Sent, &r.Header, &r.First, &r.Out, &r.Last, &r.End,
	} {
		*i = instant.Draw(t, "instant")
	}
	r.Outcome = rapid.SampledFrom([]string{OK, Failed, Cancelled, Dropped}).Draw(t, "outcome")
	r.Kind = rapid.String().Draw(t, "kind")
	r.Error = rapid.String().Draw(t, "error")
	r.Status = rapid.IntRange(0, 599).Draw(t, "status")
	for range rapid.IntRange(0, 2).Draw(t, "flags") {
		r.Flags = append(r.Flags, rapid.String().Draw(t, "flag"))
	}
	r.Reused = rapid.Bool().Draw(t, "reused")
	if rapid.Bool().Draw(t, "has retry after") {
		r.RetryAfter = new(rapid.Float64Range(0, 1e6).Draw(t, "retry after"))
	}
	r.PromptTokens = rapid.Int().Draw(t, "prompt tokens")
	r.CachedTokens = rapid.Int().Draw(t, "cached tokens")
	r.PromptTokensAsked = rapid.Int().Draw(t, "asked")
	r.OutputTokens = rapid.Int().Draw(t, "output tokens")
	r.OutputTokensFrom = rapid.SampledFrom([]string{"", FromUsage, FromEvents}).Draw(t, "from")
	r.TokensEstimated = rapid.Bool().Draw(t, "estimated")
	for range rapid.IntRange(0, 3).Draw(t, "events") {
		r.Events = append(r.Events, Event{
			At: Instant(rapid.Int64().Draw(t, "at")), Tokens: rapid.Float64Range(0, 1e6).Draw(t, "tokens"),
			Came: drawCame(t),
		})
	}
	for range rapid.IntRange(0, 2).Draw(t, "retried") {
		r.Retried = append(r.Retried, rapid.String().Draw(t, "kind"))
	}
	r.FirstCame, r.LastCame = drawCame(t), drawCame(t)
	r.Text = rapid.String().Draw(t, "text")
	if rapid.Bool().Draw(t, "timing") {
		r.Timing = &wire.Timing{Server: wire.Instants{FirstNS: rapid.Int64().Draw(t, "first")}}
	}
	return r
}

func drawCame(t *rapid.T) Came {
	return Came{
		Width: rapid.Int64().Draw(t, "width"), Unread: rapid.Int64().Draw(t, "unread"), Away: rapid.Bool().Draw(t, "away"),
	}
}

func readAll(t interface{ Fatal(...any) }, r io.Reader) (records []*Request, bad []int, cut bool) {
	reader := NewReader(r)
	for {
		rec, err := reader.Next()
		var line *LineError
		switch {
		case errors.Is(err, io.EOF):
			return records, bad, reader.Cut()
		case errors.As(err, &line):
			bad = append(bad, line.Line)
		case err != nil:
			t.Fatal(err)
		default:
			records = append(records, rec)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "r.jsonl")
	rapid.Check(t, func(t *rapid.T) {
		w, err := Create(path)
		if err != nil {
			t.Fatal(err)
		}
		var want []*Request
		for range rapid.IntRange(0, 4).Draw(t, "records") {
			r := drawRequest(t)
			want = append(want, r)
			if err := w.Write(r); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		got, bad, cut := readAll(t, bytes.NewReader(text))
		if !reflect.DeepEqual(got, want) || bad != nil || cut {
			t.Fatalf("wrote %+v, read %+v, bad lines %v, cut %v", want, got, bad, cut)
		}
		// A crash may cut the file anywhere: the full lines are still there.
		at := rapid.IntRange(0, len(text)).Draw(t, "cut at")
		got, bad, _ = readAll(t, bytes.NewReader(text[:at]))
		full := bytes.Count(text[:at], []byte("\n"))
		if len(got) < full || len(got) > full+1 || bad != nil || !reflect.DeepEqual(got, want[:len(got):len(got)]) && len(got) > 0 {
			t.Fatalf("cut at %d: %d records of %d full lines, bad lines %v", at, len(got), full, bad)
		}
	})
}

func TestEveryFieldIsDrawn(t *testing.T) {
	// A field that the round trip does not draw would be lost unseen.
	seen := map[string]bool{}
	rapid.Check(t, func(t *rapid.T) {
		text, err := json.Marshal(drawRequest(t))
		if err != nil {
			t.Fatal(err)
		}
		var fields map[string]any
		if err := json.Unmarshal(text, &fields); err != nil {
			t.Fatal(err)
		}
		for name := range fields {
			seen[name] = true
		}
	})
	typ := reflect.TypeFor[Request]()
	for i := range typ.NumField() {
		name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
		if !seen[name] {
			t.Errorf("field %s (%q) is never set", typ.Field(i).Name, name)
		}
	}
}

func TestReaderNamesBadLines(t *testing.T) {
	in := `{"id":1}` + "\n\nnonsense\n" + `{"id":"x"}` + "\n" + `{"id":2}` + "\r\n" + `{"id":3`
	got, bad, cut := readAll(t, strings.NewReader(in))
	if len(got) != 2 || got[0].ID != 1 || got[1].ID != 2 || !reflect.DeepEqual(bad, []int{3, 4}) || !cut {
		t.Errorf("records %+v, bad lines %v, cut %v", got, bad, cut)
	}
	if got[0].Sched != Unset || got[0].End != Unset {
		t.Errorf("absent instants are not Unset: %+v", got[0])
	}
	got, bad, cut = readAll(t, strings.NewReader(`{"id":3}`))
	if len(got) != 1 || bad != nil || cut {
		t.Errorf("a whole last line without its end: %+v, %v, %v", got, bad, cut)
	}
}

func TestReaderReportsReadErrors(t *testing.T) {
	broken := errors.New("disk on fire")
	r := NewReader(io.MultiReader(strings.NewReader("{\"id\":1}\n"), errReader{broken}))
	if _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(); !errors.Is(err, broken) || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("got %v", err)
	}
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

func TestWriterFlushesWithinASecond(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.jsonl")
	synctest.Test(t, func(t *testing.T) {
		w, err := Create(path)
		if err != nil {
			t.Fatal(err)
		}
		lines := func() int {
			text, err := os.ReadFile(path + ".partial")
			if err != nil {
				t.Fatal(err)
			}
			return bytes.Count(text, []byte("\n"))
		}
		// Spells of silence between the records: each must still come in time.
		for i := 1; i <= 3; i++ {
			if err := w.Write(New()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			synctest.Wait()
			if n := lines(); n != i {
				t.Errorf("a second after record %d, %d lines are written", i, n)
			}
			time.Sleep(5 * time.Second)
		}
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the final name exists before Close: %v", err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	})
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path + ".partial"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the partial file is left: %v", err)
	}
}

func TestWriterErrors(t *testing.T) {
	if _, err := Create(filepath.Join(t.TempDir(), "missing", "r.jsonl")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Create in no directory: %v", err)
	}
	path := filepath.Join(t.TempDir(), "r.jsonl")
	w, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	bad := New()
	bad.RetryAfter = new(math.NaN())
	if err := w.Write(bad); err == nil {
		t.Error("a record that JSON cannot hold is written")
	}
	if err := w.file.Close(); err != nil { // as if the disk were gone
		t.Fatal(err)
	}
	if err := w.Write(New()); err != nil {
		t.Fatal(err)
	}
	first := w.Close()
	if first == nil || first != w.Close() {
		t.Errorf("Close without a disk: %v", first)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Error("an incomplete file got its final name")
	}
	if err := w.Write(New()); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Write after Close: %v", err)
	}
}

// An older file of that name may be all that somebody has.
func TestDiscardLeavesAnOlderFileAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.jsonl")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	holds := func(want string) {
		t.Helper()
		text, err := os.ReadFile(path)
		if err != nil || string(text) != want {
			t.Errorf("the file holds %q, %v; want %q", text, err, want)
		}
		if _, err := os.Stat(path + ".partial"); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the partial file is left: %v", err)
		}
	}
	w, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(New()); err != nil {
		t.Fatal(err)
	}
	w.Discard()
	holds("old")
	if err := w.Write(New()); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Write after Discard: %v", err)
	}
	if err := w.Close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Close after Discard: %v", err)
	}
	holds("old")

	if w, err = Create(path); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	w.Discard()
	holds("")
}

func FuzzReader(f *testing.F) {
	f.Add([]byte("{\"id\":1}\n{\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		records, bad, _ := readAll(t, bytes.NewReader(text))
		if n := bytes.Count(text, []byte("\n")) + 1; len(records)+len(bad) > n {
			t.Errorf("%d lines give %d records and %d errors", n, len(records), len(bad))
		}
	})
}
