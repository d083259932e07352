package load

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"llmsim-bench/bench/openai"
	"llmsim-bench/bench/record"
	"llmsim-bench/bench/transport"
	"llmsim-bench/internal/sleep"
	"llmsim-bench/internal/wire"
)

// script plays a server on one connection: it is called once for each request,
// and the connection is closed once it returns false.
type script func(c *net.TCPConn, r *http.Request) (goOn bool)

// play starts a server and returns a sender to it.
func play(t *testing.T, s script) *Sender {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				br := bufio.NewReader(c)
				for {
					r, err := http.ReadRequest(br)
					if err != nil {
						return
					}
					body, err := io.ReadAll(r.Body)
					if err != nil {
						return
					}
					r.Body = io.NopCloser(strings.NewReader(string(body)))
					if !s(c.(*net.TCPConn), r) {
						return
					}
				}
			}()
		}
	}()
	return senderTo(t, l.Addr().String())
}

func senderTo(t *testing.T, address string) *Sender {
	clock := sleep.NewClock()
	pool := transport.New(transport.Config{
		Target: transport.Target{Address: address, Host: address, BasePath: "/v1"}, Now: clock.Now,
	})
	t.Cleanup(pool.Close)
	return &Sender{Pool: pool, Clock: clock, Model: "m", Timeouts: Timeouts{Total: 20 * time.Second}}
}

func sendOne(ctx context.Context, s *Sender) *record.Request {
	rec := record.New()
	s.Send(ctx, &Job{Prompt: []byte("hi"), OutputTokens: 3, Phase: record.PhaseMeasure}, rec)
	return rec
}

const (
	streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
	lastChunk  = "0\r\n\r\n"
	finishData = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	usageData  = `{"choices":[],"usage":{"prompt_tokens":8,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":4}},` +
		`"llmsim_timing":{"simulated":{"first_ns":1,"last_ns":2},"server":{"first_ns":3,"last_ns":4}}}`
)

func token(text string) string {
	return fmt.Sprintf(`{"choices":[{"index":0,"delta":{"content":%q},"finish_reason":null}]}`, text)
}

// events frames each datum as an event in a chunk of its own.
func events(data ...string) string {
	var b strings.Builder
	for _, d := range data {
		ev := "data: " + d + "\n\n"
		fmt.Fprintf(&b, "%x\r\n%s\r\n", len(ev), ev)
	}
	return b.String()
}

func whole(status, contentType, body string) string {
	return fmt.Sprintf("HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", status, contentType, len(body), body)
}

func TestOutcomes(t *testing.T) {
	ok := streamHead + events(token("a"), token("b"), finishData, usageData, "[DONE]") + lastChunk
	for _, tt := range []struct {
		name, raw           string
		keep                bool // the server keeps the connection
		outcome, kind, text string
		tokens              int
		flags               []string
	}{
		{"ok", ok, true, record.OK, "", "", 2, nil},
		{"last chunk withheld", strings.TrimSuffix(ok, lastChunk), true, record.OK, "", "", 2, nil},
		{"no [DONE]", streamHead + events(token("a"), finishData) + lastChunk, true, record.OK, "", "", 1, nil},
		{"not terminated [DONE]", streamHead + events(token("a")) + "c\r\ndata: [DONE]", false, record.OK, "", "", 1, nil},
		{
			"not streamed", whole("200 OK", "application/json", `{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}],"usage":{"completion_tokens":2}}`),
			true, record.OK, "", "", 2,
			[]string{record.FlagNotStreamed},
		},
		{"until close", "HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: " + token("a") + "\n\ndata: [DONE]\n\n", false, record.OK, "", "", 1, nil},
		{"clumped", streamHead + events(slices.Repeat([]string{token("x")}, 50)...) + events("[DONE]"), true, record.OK, "", "", 50, nil},
		{"cut", streamHead + events(token("a"), token("b")), false, record.Failed, record.KindTruncated, "", 2, nil},
		{"ended early", streamHead + events(token("a"), token("b")) + lastChunk, true, record.Failed, record.KindTruncated, "", 2, nil},
		{"finished but cut", streamHead + events(token("a"), finishData), false, record.Failed, record.KindTruncated, "", 1, nil},
		{"no answer", "", false, record.Failed, record.KindTruncated, "", 0, nil},
		{"cut header", "HTTP/1.1 200 OK\r\nConte", false, record.Failed, record.KindTruncated, "", 0, nil},
		{"empty", streamHead + events("[DONE]") + lastChunk, true, record.Failed, record.KindEmpty, "no token", 0, nil},
		{"error in a 200", streamHead + events(token("a"), `{"error":{"message":"out of memory"}}`), true, record.Failed, record.KindErrorInStream, "out of memory", 1, nil},
		{"not JSON", streamHead + events(token("a"), "{oops"), true, record.Failed, record.KindProtocol, "oops", 1, nil},
		{"a web page", whole("200 OK", "text/html", "<html></html>"), true, record.Failed, record.KindProtocol, "text/html", 0, nil},
		{"not HTTP", "220 mail.example.com ESMTP\r\n", true, record.Failed, record.KindProtocol, "", 0, nil},
		{"bad chunk", streamHead + events(token("a")) + "zz\r\n", true, record.Failed, record.KindProtocol, "zz", 1, nil},
		{"4xx", whole("400 Bad Request", "application/json", `{"error":{"message":"max_tokens is too large"}}`), true, record.Failed, record.KindHTTP4xx, "max_tokens is too large", 0, nil},
		{"5xx", whole("503 Service Unavailable", "text/plain", "upstream connect error"), true, record.Failed, record.KindHTTP5xx, "upstream connect error", 0, nil},
		{"5xx, cut", "HTTP/1.1 500 X\r\nContent-Length: 9\r\n\r\noh", false, record.Failed, record.KindHTTP5xx, "oh", 0, nil},
		{"no message", whole("404 Not Found", "text/plain", ""), true, record.Failed, record.KindHTTP4xx, "status 404", 0, nil},
		{"redirection", whole("307 Temporary Redirect", "text/plain", ""), true, record.Failed, record.KindProtocol, "status 307", 0, nil},
		{"endless error", "HTTP/1.1 500 X\r\n\r\n" + strings.Repeat("x", 1<<20), true, record.Failed, record.KindHTTP5xx, "xxx", 0, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := play(t, func(c *net.TCPConn, _ *http.Request) bool {
				io.WriteString(c, tt.raw)
				return tt.keep
			})
			rec := sendOne(t.Context(), s)
			if rec.Outcome != tt.outcome || rec.Kind != tt.kind || rec.OutputTokens != tt.tokens {
				t.Errorf("%s %s, %d tokens; want %s %s, %d", rec.Outcome, rec.Kind, rec.OutputTokens, tt.outcome, tt.kind, tt.tokens)
			}
			if !strings.Contains(rec.Error, tt.text) || (rec.Error == "") != (rec.Outcome == record.OK) {
				t.Errorf("error %q, want %q in it", rec.Error, tt.text)
			}
			// Whether events clump is the kernel's choice here.
			flags := slices.DeleteFunc(rec.Flags, func(f string) bool { return f == record.FlagClumped })
			if len(flags)+len(tt.flags) > 0 && !slices.Equal(flags, tt.flags) {
				t.Errorf("flags %v, want %v", flags, tt.flags)
			}
			if len(rec.Events) != tt.tokens && tt.name != "not streamed" {
				t.Errorf("%d events", len(rec.Events))
			}
			inOrder(t, rec)
		})
	}
}

// inOrder checks that the instants that came came in their order, End among them.
func inOrder(t *testing.T, rec *record.Request) {
	t.Helper()
	if rec.End == record.Unset {
		t.Error("End is unset")
	}
	before := record.Instant(0)
	for i, at := range []record.Instant{rec.Conn, rec.Sent, rec.Header, rec.First, rec.Last, rec.End} {
		if at == record.Unset {
			continue
		}
		if at < before {
			t.Errorf("instant %d, %d, is before the one before it, %d", i, at, before)
		}
		before = at
	}
}

func TestAnswerFillsTheRecord(t *testing.T) {
	s := play(t, func(c *net.TCPConn, _ *http.Request) bool {
		io.WriteString(c, streamHead+events(token("a"), token("b"), finishData, usageData, "[DONE]")+lastChunk)
		return true
	})
	s.Extensions.IgnoreEOS = true // three tokens, exactly, are asked for
	rec := sendOne(t.Context(), s)
	if rec.Status != 200 || rec.PromptTokens != 8 || rec.CachedTokens != 4 || rec.OutputTokensFrom != record.FromUsage ||
		rec.TokensEstimated || !slices.Equal(rec.Flags, []string{record.FlagShortOutput}) {
		t.Errorf("%+v", rec)
	}
	want := &wire.Timing{Simulated: wire.Instants{FirstNS: 1, LastNS: 2}, Server: wire.Instants{FirstNS: 3, LastNS: 4}}
	if !reflect.DeepEqual(rec.Timing, want) {
		t.Errorf("timing %+v", rec.Timing)
	}
	if len(rec.Events) != 2 || rec.Events[0].At != rec.First || rec.Events[0].Tokens != 1 || rec.Out != rec.First {
		t.Errorf("events %+v, first %d, out %d", rec.Events, rec.First, rec.Out)
	}
	for _, at := range []record.Instant{rec.Conn, rec.Sent, rec.Header, rec.First, rec.Last, rec.End} {
		if at == record.Unset {
			t.Errorf("an instant is unset: %+v", rec)
		}
	}
	if rec.Sched != record.Unset || rec.Dispatch != record.Unset || rec.Slot != record.Unset {
		t.Error("an instant of the dispatcher's was set")
	}
}

func TestStreamCutAnywhere(t *testing.T) {
	raw := streamHead + events(token("a"), token("b"), "[DONE]") + lastChunk
	var at atomic.Int64
	s := play(t, func(c *net.TCPConn, _ *http.Request) bool {
		io.WriteString(c, raw[:at.Load()])
		io.WriteString(c, raw[at.Load():])
		return true
	})
	for cut := range raw {
		at.Store(int64(cut))
		if rec := sendOne(t.Context(), s); rec.Outcome != record.OK || rec.OutputTokens != 2 {
			t.Fatalf("cut at %d: %+v", cut, rec)
		}
	}
	if stats := s.Pool.Stats(); stats.Stale != 0 {
		t.Errorf("%+v: a good connection was thrown away", stats)
	}
}

func TestKeepAlive(t *testing.T) {
	s := play(t, func(c *net.TCPConn, _ *http.Request) bool {
		io.WriteString(c, streamHead+events(token("a"), "[DONE]")+lastChunk)
		return true
	})
	first, second := sendOne(t.Context(), s), sendOne(t.Context(), s)
	if first.Reused || !second.Reused || second.Outcome != record.OK {
		t.Errorf("reused %v, then %v, %s", first.Reused, second.Reused, second.Outcome)
	}
	if stats := s.Pool.Stats(); stats.Dials != 1 || stats.Reuses != 1 || stats.Stale != 0 {
		t.Errorf("%+v", stats)
	}
}

func TestReset(t *testing.T) {
	for name, raw := range map[string]string{"before the header": "", "in the stream": streamHead + events(token("a"), token("b"))} {
		t.Run(name, func(t *testing.T) {
			s := play(t, func(c *net.TCPConn, _ *http.Request) bool {
				io.WriteString(c, raw)
				c.SetLinger(0) // closing it now resets it
				return false
			})
			rec := sendOne(t.Context(), s)
			if rec.Outcome != record.Failed || rec.Kind != record.KindReset {
				t.Errorf("%s %s: %s", rec.Outcome, rec.Kind, rec.Error)
			}
			inOrder(t, rec)
		})
	}
}

func TestConnectRefused(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	rec := sendOne(t.Context(), senderTo(t, l.Addr().String()))
	if rec.Outcome != record.Failed || rec.Kind != record.KindConnect || rec.Conn != record.Unset || rec.Error == "" {
		t.Errorf("%+v", rec)
	}
	inOrder(t, rec)
}

func TestTimeoutAndCancel(t *testing.T) {
	for name, raw := range map[string]string{"before the header": "", "in the stream": streamHead + events(token("a"))} {
		t.Run(name, func(t *testing.T) {
			asked := make(chan struct{}, 2)
			hold := make(chan struct{})
			t.Cleanup(func() { close(hold) })
			s := play(t, func(c *net.TCPConn, _ *http.Request) bool {
				io.WriteString(c, raw)
				asked <- struct{}{}
				<-hold
				return false
			})
			s.Timeouts.Total = 50 * time.Millisecond
			rec := sendOne(t.Context(), s)
			if rec.Outcome != record.Failed || rec.Kind != record.KindTimeout || !strings.Contains(rec.Error, "50ms") {
				t.Errorf("timeout: %s %s %q", rec.Outcome, rec.Kind, rec.Error)
			}
			inOrder(t, rec)
			<-asked

			s.Timeouts.Total = 0
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-asked
				cancel()
			}()
			rec = sendOne(ctx, s)
			if rec.Outcome != record.Cancelled || rec.Kind != "" || rec.Error != "" {
				t.Errorf("cancel: %s %s %q", rec.Outcome, rec.Kind, rec.Error)
			}
			inOrder(t, rec)
			if rec := sendOne(ctx, s); rec.Outcome != record.Cancelled || rec.Conn != record.Unset {
				t.Errorf("cancelled before: %s", rec.Outcome)
			}
		})
	}
}

func TestRateLimited(t *testing.T) {
	none := math.Inf(1)
	for header, want := range map[string]float64{
		"Retry-After: 1": 1, "Retry-After: 0.5": 0.5, "Retry-After: 0": 0, "Retry-After: -1": none, "Retry-After: soon": none,
		"X: y": none, "Retry-After: NaN": none,
		"Date: Mon, 02 Jan 2006 15:04:05 GMT\r\nRetry-After: Mon, 02 Jan 2006 15:04:35 GMT": 30,
		"Date: Mon, 02 Jan 2006 15:04:05 GMT\r\nRetry-After: Mon, 02 Jan 2006 15:03:35 GMT": 0,
	} {
		s := play(t, func(c *net.TCPConn, _ *http.Request) bool {
			io.WriteString(c, "HTTP/1.1 429 Too Many Requests\r\n"+header+"\r\nContent-Length: 35\r\n\r\n"+`{"error": {"message": "slow down"}}`)
			return true
		})
		rec := sendOne(t.Context(), s)
		got := none
		if rec.RetryAfter != nil {
			got = *rec.RetryAfter
		}
		if rec.Outcome != record.Failed || rec.Kind != record.KindRateLimited || got != want ||
			rec.Status != 429 || rec.Error != "slow down" {
			t.Errorf("%s: %+v, Retry-After %v, want %v", header, rec, got, want)
		}
	}
}

func TestACompressedAnswerIsRefused(t *testing.T) {
	s := play(t, func(c *net.TCPConn, _ *http.Request) bool {
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd")
		return true
	})
	rec := sendOne(t.Context(), s)
	if rec.Outcome != record.Failed || rec.Kind != record.KindProtocol || !strings.Contains(rec.Error, `"gzip"`) {
		t.Errorf("%+v", rec)
	}
}

func TestAnAnswerWithoutEndIsGivenUp(t *testing.T) {
	s := play(t, func(c *net.TCPConn, _ *http.Request) bool {
		io.WriteString(c, streamHead)
		some := events(strings.Split(strings.Repeat(token("a")+"\n", 1000), "\n")[:1000]...)
		for {
			if _, err := io.WriteString(c, some); err != nil {
				return false // the client is gone
			}
		}
	})
	rec := sendOne(t.Context(), s)
	if rec.Outcome != record.Failed || rec.Kind != record.KindProtocol || !strings.Contains(rec.Error, "does not end") || len(rec.Events) > leastEvents+1 {
		t.Errorf("%s %s %q, %d events", rec.Outcome, rec.Kind, rec.Error, len(rec.Events))
	}
}

func TestRequest(t *testing.T) {
	var got *http.Request
	requests := make(chan *http.Request, 1)
	s := play(t, func(c *net.TCPConn, r *http.Request) bool {
		requests <- r
		io.WriteString(c, whole("400 Bad Request", "text/plain", "no"))
		return true
	})
	body := func() map[string]any {
		var m map[string]any
		if err := json.NewDecoder(got.Body).Decode(&m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	sendOne(t.Context(), s)
	got = <-requests
	for _, name := range []string{"Authorization", wire.HeaderPhase, wire.HeaderTiming} {
		if v, sent := got.Header[http.CanonicalHeaderKey(name)]; sent {
			t.Errorf("%s: %s is sent unasked", name, v)
		}
	}
	want := map[string]any{
		"model": "m", "max_tokens": 3.0, "stream": true,
		"messages": []any{map[string]any{"role": "user", "content": "hi"}},
	}
	if m := body(); got.URL.Path != "/v1/chat/completions" || !reflect.DeepEqual(m, want) {
		t.Errorf("%s %v", got.URL, m)
	}

	s.APIKey, s.Simulator, s.Run = "key", true, "run-1"
	s.Extensions = openai.Extensions{StreamUsage: true, IgnoreEOS: true}
	job := Job{Prompt: []byte("hi"), OutputTokens: 3, Phase: record.PhaseWarmup}
	s.Prepare(&job)
	job.Prompt = []byte("too late")
	s.Send(t.Context(), &job, record.New())
	got = <-requests
	if got.Header.Get("Authorization") != "Bearer key" || got.Header.Get(wire.HeaderPhase) != "run-1/warmup" ||
		got.Header.Get(wire.HeaderTiming) != "1" {
		t.Errorf("%v", got.Header)
	}
	want["ignore_eos"], want["stream_options"] = true, map[string]any{"include_usage": true}
	if m := body(); !reflect.DeepEqual(m, want) {
		t.Errorf("the prepared body is %v", m)
	}
}
