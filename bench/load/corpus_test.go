package load

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"llmsim-bench/bench/openai"
	"llmsim-bench/bench/record"
	"llmsim-bench/bench/transport"
	"llmsim-bench/internal/sleep"
)

const (
	// lateBound is by how much an instant may be later than the write that it
	// belongs to ended.
	lateBound = 150 * time.Millisecond
	// attempts is how often a case is played that was only late: a busy machine
	// is late now and then, a mistake each time.
	attempts = 8
	// clockSlack is by how much the instant of a write and that of its receipt
	// may disagree: the kernel stamps by another clock.
	clockSlack = time.Millisecond
	// caseLimit ends a case that would wait for ever.
	caseLimit = 20 * time.Second
)

// streamCase is what a server's socket sends and what a client must report.
type streamCase struct {
	ID          string            `json:"id"`
	Why         string            `json:"why"`
	API         string            `json:"api"`
	MaxTokens   int               `json:"max_tokens"`
	ExactLength bool              `json:"exact_length"`
	Status      int               `json:"status"`
	Headers     map[string]string `json:"headers"`
	// HeadersAtMS is when the header goes out; nil: with the first segment.
	HeadersAtMS *int64 `json:"headers_at_ms"`
	// Framing is chunked or close.
	Framing  string    `json:"framing"`
	Segments []segment `json:"segments"`
	// Split is empty, "bytes" or "chunks:N".
	Split string `json:"split"`
	// End is clean, fin, rst or "hold:MS".
	End    string                     `json:"end"`
	Expect map[string]json.RawMessage `json:"expect"`
}

type segment struct {
	AtMS int64  `json:"at_ms"`
	Raw  string `json:"raw"`
}

// TestStreamCorpus plays the cases of testdata/streams.json, or of the file that
// STREAM_CORPUS names, all at once.
func TestStreamCorpus(t *testing.T) {
	path := os.Getenv("STREAM_CORPUS")
	if path == "" {
		path = "../testdata/streams.json"
	} else if _, err := os.Stat(path); err != nil && !filepath.IsAbs(path) {
		path = filepath.Join("../..", path) // as seen from where go test was called
	}
	cases := readCorpus(t, path)
	found := make([]*findings, len(cases))
	var wg sync.WaitGroup
	for i := range cases {
		wg.Go(func() {
			for range attempts {
				found[i] = playCase(t.Context(), &cases[i])
				if len(found[i].late) == 0 || len(found[i].wrong) > 0 {
					return
				}
			}
		})
	}
	wg.Wait()
	for i := range cases {
		t.Run(cases[i].ID, func(t *testing.T) {
			for _, f := range append(found[i].wrong, found[i].late...) {
				t.Error(f)
			}
			if t.Failed() {
				t.Logf("%s: %s", cases[i].ID, cases[i].Why)
			}
		})
	}
}

func readCorpus(t *testing.T, path string) []streamCase {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Schema int          `json:"schema"`
		Cases  []streamCase `json:"cases"`
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&file); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if file.Schema != 1 {
		t.Fatalf("%s: schema %d, must be 1", path, file.Schema)
	}
	if len(file.Cases) == 0 {
		t.Fatalf("%s holds no case", path)
	}
	return file.Cases
}

// findings is what is wrong with what a client reported.
type findings struct {
	wrong []string
	late  []string // what may be the machine's doing
}

func (f *findings) wrongf(format string, args ...any) {
	f.wrong = append(f.wrong, fmt.Sprintf(format, args...))
}

func (f *findings) latef(format string, args ...any) {
	f.late = append(f.late, fmt.Sprintf(format, args...))
}

// playCase plays a case once.
func playCase(ctx context.Context, c *streamCase) *findings {
	var f findings
	api, err := openai.ParseAPI(c.API)
	if err != nil {
		f.wrongf("%v", err)
		return &f
	}
	clock := sleep.NewClock()
	server, err := listen(c, clock)
	if err != nil {
		f.wrongf("%v", err)
		return &f
	}
	target := server.l.Addr().String()
	pool := transport.New(transport.Config{Target: transport.Target{Address: target, Host: target}, Now: clock.Now})
	defer pool.Close()
	sender := &Sender{
		Pool: pool, Clock: clock, API: api, Model: "m", KeepText: true,
		Extensions: openai.Extensions{IgnoreEOS: c.ExactLength},
	}
	rec := record.New()
	ctx, cancel := context.WithTimeout(ctx, caseLimit)
	defer cancel()
	sender.Send(ctx, &Job{Prompt: []byte("hi"), OutputTokens: max(c.MaxTokens, 1), Phase: record.PhaseMeasure}, rec)
	p := played{streamCase: c, findings: &f, api: api, rec: rec, returned: clock.Now(), log: server.end()}
	p.check()
	return &f
}

// played is a case that was played.
type played struct {
	*streamCase
	*findings
	api      openai.API
	rec      *record.Request
	returned int64 // when Send returned
	log      serverLog
}

func (p *played) check() {
	if p.log.err != nil {
		p.wrongf("the server failed: %v", p.log.err)
		return
	}
	if p.log.request == 0 || p.rec.Sent == record.Unset || int64(p.rec.Sent) > p.log.request {
		p.wrongf("sent at %d, but the server had read the request at %d", p.rec.Sent, p.log.request)
		return
	}
	if _, known := p.Expect["outcome"]; !known {
		p.wrongf("the case expects no outcome")
	}
	for key, raw := range p.Expect {
		p.checkKey(key, raw)
	}
	before := record.Instant(0)
	for i, at := range []record.Instant{p.rec.Conn, p.rec.Sent, p.rec.Header, p.rec.First, p.rec.Last, p.rec.End} {
		if at != record.Unset && at < before {
			p.wrongf("instant %d, %d, is before the one before it, %d", i, at, before)
		}
		before = max(before, at)
	}
	if p.rec.End == record.Unset {
		p.wrongf("the end is unset")
	}
}

// checkKey checks one field of what is expected.
func (p *played) checkKey(key string, raw json.RawMessage) {
	rec := p.rec
	switch key {
	case "outcome":
		p.equal(key, raw, rec.Outcome)
		if rec.Outcome == record.OK && rec.Kind+rec.Error != "" {
			p.wrongf("ok, but %s %q", rec.Kind, rec.Error)
		}
	case "kind":
		p.equal(key, raw, rec.Kind)
	case "message":
		if want := p.text(key, raw); want == "" || !strings.Contains(rec.Error, want) {
			p.wrongf("error %q, want %q in it", rec.Error, want)
		}
	case "retry_after_s":
		if rec.RetryAfter == nil {
			p.wrongf("there is no Retry-After, want %s s", raw)
			return
		}
		p.count(key, raw, *rec.RetryAfter)
	case "output_tokens":
		p.count(key, raw, float64(rec.OutputTokens))
	case "chunks":
		p.count(key, raw, float64(len(rec.Events)))
	case "choices":
		p.count(key, raw, float64(p.choices()))
	case "text":
		p.equal(key, raw, rec.Text)
	case "flag":
		want := []string{}
		if string(raw) != "null" {
			want = append(want, p.text(key, raw))
		}
		if !slices.Equal(want, append([]string{}, rec.Flags...)) {
			p.wrongf("flags %v, want %v", rec.Flags, want)
		}
	case "header_ms":
		p.written(key, rec.Header, p.log.header, p.number(key, raw))
	case "ttft_ms":
		p.completed(key, rec.First, p.number(key, raw))
	case "ttfo_ms":
		p.completed(key, rec.Out, p.number(key, raw))
	case "e2e_ms":
		p.completed(key, rec.Last, p.number(key, raw))
	case "chunk_gap_ms":
		p.spread(key, p.number(key, raw), float64(len(rec.Events)-1))
	case "itl_ms":
		tokens := 0.0
		for _, ev := range rec.Events[min(1, len(rec.Events)):] {
			tokens += ev.Tokens
		}
		p.spread(key, p.number(key, raw), tokens)
	case "ends_before_ms":
		by := p.log.request + int64(p.number(key, raw)*1e6)
		if p.returned > by || int64(rec.End) > by {
			p.latef("ended at %d and returned at %d, want that by %d", rec.End, p.returned, by)
		}
	default:
		p.wrongf("the case expects %q, which this test does not know", key)
	}
}

func (p *played) equal(key string, raw json.RawMessage, got string) {
	if want := p.text(key, raw); got != want {
		p.wrongf("%s %q, want %q (%s %s %q)", key, got, want, p.rec.Outcome, p.rec.Kind, p.rec.Error)
	}
}

func (p *played) count(key string, raw json.RawMessage, got float64) {
	if want := p.number(key, raw); got != want {
		p.wrongf("%s %v, want %v (%s %s %q)", key, got, want, p.rec.Outcome, p.rec.Kind, p.rec.Error)
	}
}

func (p *played) text(key string, raw json.RawMessage) (s string) {
	if err := json.Unmarshal(raw, &s); err != nil {
		p.wrongf("expected %s: %v", key, err)
	}
	return s
}

func (p *played) number(key string, raw json.RawMessage) (n float64) {
	if err := json.Unmarshal(raw, &n); err != nil {
		p.wrongf("expected %s: %v", key, err)
	}
	return n
}

// choices is how many choices spoke. A record keeps but the first one's events.
func (p *played) choices() int {
	var a openai.Answer
	a.Reset(p.api, 0)
	for _, s := range p.Segments {
		a.Feed([]byte(s.Raw), openai.Received{})
	}
	r := a.Finish(0, false, p.Headers["Content-Type"])
	return r.Choices
}

// completed checks an instant against the write, due at dueMS, of the segment
// that completes its event.
func (p *played) completed(key string, at record.Instant, dueMS float64) {
	w, found := p.due(key, dueMS)
	if found {
		p.written(key, at, w, dueMS)
	}
}

// due returns the writes of the segments due at dueMS, as one.
func (p *played) due(key string, dueMS float64) (w span, found bool) {
	for i, s := range p.Segments {
		if float64(s.AtMS) != dueMS || i >= len(p.log.segments) {
			continue
		}
		if !found {
			w = p.log.segments[i]
		}
		w.end, found = p.log.segments[i].end, true
	}
	if !found {
		p.wrongf("%s: no segment was written that is due at %v ms", key, dueMS)
	}
	return w, found
}

// written checks an instant against the write it belongs to, and the time since
// the request was sent, which was before the server had read it, against dueMS.
func (p *played) written(key string, at record.Instant, w span, dueMS float64) {
	switch {
	case at == record.Unset:
		p.wrongf("%s: the instant is unset (%s %s %q)", key, p.rec.Outcome, p.rec.Kind, p.rec.Error)
	case int64(at) < w.start-int64(clockSlack):
		p.wrongf("%s: it came %v before it was written", key, time.Duration(w.start-int64(at)))
	case float64(at-p.rec.Sent) < dueMS*1e6-float64(clockSlack):
		p.wrongf("%s is %v, less than the %v ms due", key, time.Duration(at-p.rec.Sent), dueMS)
	case int64(at) > w.end+int64(lateBound):
		p.latef("%s: it came %v after it was written", key, time.Duration(int64(at)-w.end))
	}
}

// spread checks the time from the first event to the last of the first choice,
// divided by n, against dueMS and the writes.
func (p *played) spread(key string, dueMS, n float64) {
	if n <= 0 {
		p.wrongf("%s: there is nothing to divide by", key)
		return
	}
	// By the case alone, the first event and the last are so far apart.
	first := p.number("ttft_ms", p.Expect["ttft_ms"])
	from, ok := p.due(key, first)
	to, ok2 := p.due(key, first+math.Round(dueMS*n))
	if !ok || !ok2 {
		return
	}
	got := float64(p.rec.Last-p.rec.First) / n
	least := float64(to.start-from.end-int64(lateBound)) / n
	most := float64(to.end-from.start+int64(lateBound)) / n
	if got < least || got > most {
		p.latef("%s is %v, not from %v to %v", key, time.Duration(got), time.Duration(least), time.Duration(most))
	}
}
