package selftest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"llmsim-bench/bench/load"
	"llmsim-bench/bench/openai"
	"llmsim-bench/bench/record"
	"llmsim-bench/bench/transport"
	"llmsim-bench/internal/sleep"
)

// startNull starts a null server in this process.
func startNull(t *testing.T) *NullServer {
	t.Helper()
	s, err := ListenNull("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve() }()
	t.Cleanup(func() {
		s.Close()
		if err := <-served; !errors.Is(err, net.ErrClosed) {
			t.Errorf("Serve ended with %v", err)
		}
	})
	return s
}

// paces are those whose streams take no time worth mentioning.
var paces = []time.Duration{0, 100 * time.Microsecond}

func TestNullServerSpeaksToNetHTTP(t *testing.T) {
	s := startNull(t)
	client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}}
	defer client.CloseIdleConnections()
	get, err := client.Get(s.URL() + "/v1/models")
	if err != nil {
		t.Fatal(err)
	}
	var models struct{ Data []struct{ ID string } }
	if err := json.NewDecoder(get.Body).Decode(&models); err != nil || len(models.Data) != 1 || models.Data[0].ID != "null" {
		t.Errorf("%v: %+v", err, models)
	}
	get.Body.Close()
	for _, pace := range paces {
		for _, events := range []int{1, 2, 40, 1000} { // the last is longer than one write
			if pace > 0 && events > 100 {
				continue
			}
			body := fmt.Sprintf(`{"messages":[{"role":"user","content":"\"max_tokens\": 7"}],"max_tokens": %d,"stream":true}`, events)
			post, err := client.Post(pacedURL(s.URL(), pace)+"/chat/completions", "application/json", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(post.Body)
			post.Body.Close()
			if err != nil || post.StatusCode != 200 || post.Header.Get("Content-Type") != "text/event-stream" {
				t.Errorf("%d events at %v: %s, %v", events, pace, post.Status, err)
			}
			if n := strings.Count(string(text), `"content":`); n != events || !strings.HasSuffix(string(text), "data: [DONE]\n\n") {
				t.Errorf("%d events at %v: %d came, at the end %q", events, pace, n, text[max(len(text)-40, 0):])
			}
			for _, line := range strings.Split(string(text), "\n") {
				data, isData := strings.CutPrefix(line, "data: ")
				if isData && data != "[DONE]" && !json.Valid([]byte(data)) {
					t.Fatalf("no JSON: %s", data)
				}
			}
		}
	}
}

func TestNullServerSpeaksToTheSender(t *testing.T) {
	s := startNull(t)
	clock := sleep.NewClock()
	for _, pace := range paces {
		target, err := transport.ParseTarget(pacedURL(s.URL(), pace))
		if err != nil {
			t.Fatal(err)
		}
		pool := transport.New(transport.Config{Target: target, Now: clock.Now})
		defer pool.Close()
		sender := &load.Sender{Pool: pool, Clock: clock, API: openai.Chat, Model: "null"}
		for i := range 3 {
			rec := record.New()
			sender.Send(t.Context(), &load.Job{Prompt: []byte("hi"), OutputTokens: 20}, rec)
			if rec.Outcome != record.OK || rec.OutputTokens != 20 || len(rec.Events) != 20 || rec.Reused != (i > 0) {
				t.Errorf("pace %v, request %d: %+v", pace, i, rec)
			}
		}
	}
}

func TestNullServerRefuses(t *testing.T) {
	s := startNull(t)
	for request, status := range map[string]string{
		"GET /v1/other HTTP/1.1\r\n\r\n":                                                 "404",
		"POST /v1/models HTTP/1.1\r\n\r\n":                                               "404",
		"hello\r\n\r\n":                                                                  "400",
		"POST /pace/soon/v1/chat/completions HTTP/1.1\r\n\r\n":                           "400",
		"POST /pace/-1s/v1/chat/completions HTTP/1.1\r\n\r\n":                            "400",
		"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: -1\r\n\r\n":               "400",
		"POST /v1/chat/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n":       "400",
		"GET /v1/models HTTP/1.1\r\nX: " + strings.Repeat("x", 20_000):                   "400",
		"POST /v1/chat/completions HTTP/1.1\r\ncontent-length: 999999999999999999\r\n\r": "",
	} {
		c, err := net.Dial("tcp", s.listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(c, request)
		if status == "" { // half a request
			c.Close()
			continue
		}
		answer, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || !strings.HasPrefix(answer.Status, status) {
			t.Errorf("%.60q: %+v, %v; want %s", request, answer, err, status)
		}
		c.Close()
	}
}

func TestNullServerBoundsPaces(t *testing.T) {
	s := startNull(t)
	for i := range maxPacers {
		if s.pacer(time.Duration(i+1)*time.Minute) == nil {
			t.Fatalf("no pacer %d", i)
		}
	}
	if s.pacer(time.Hour) != nil || s.pacer(time.Minute) == nil {
		t.Error("the number of pacers is not bounded, or one that is there is refused")
	}
	answer, err := http.Post(pacedURL(s.URL(), time.Hour)+"/chat/completions", "", strings.NewReader(`{"max_tokens":2}`))
	if err != nil || answer.StatusCode != http.StatusBadRequest {
		t.Errorf("%+v, %v", answer, err)
	} else {
		answer.Body.Close()
	}
}

// TestNullServerCloseEndsStreams: nobody has to wait for the hour.
func TestNullServerCloseEndsStreams(t *testing.T) {
	s := startNull(t)
	answer, err := http.Post(pacedURL(s.URL(), time.Hour)+"/chat/completions", "", strings.NewReader(`{"max_tokens":2}`))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	s.Close()
	if _, err := io.ReadAll(answer.Body); err == nil {
		t.Error("the answer ended well")
	}
}

func FuzzReadRequest(f *testing.F) {
	f.Add([]byte("POST /pace/5ms/v1/chat/completions HTTP/1.1\r\nContent-Length: 16\r\n\r\n{\"max_tokens\":2}"))
	f.Add([]byte("GET /v1/models HTTP/1.1\nHost: x\n\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var body []byte
		r, err := readRequest(bufio.NewReader(strings.NewReader(string(data))), &body)
		if err == nil && (r.events < 1 || r.events > maxNullEvents || r.pace < 0 || r.pace > maxNullPace) {
			t.Errorf("%+v", r)
		}
	})
}

// BenchmarkNullServerEvent is what an event costs the server's pacer, a write to
// loopback TCP included.
func BenchmarkNullServerEvent(b *testing.B) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err == nil {
			_, _ = io.Copy(io.Discard, c)
		}
	}()
	var d net.Dialer
	c, err := d.DialContext(context.Background(), "tcp", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	p, _ := newTestPacer()
	p.add(&stream{conn: c, left: 1 << 30, done: make(chan struct{}, 1)})
	p.take()
	now := int64(0)
	for b.Loop() {
		now += 10
		p.release(now)
	}
}
