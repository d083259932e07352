package recorder

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"llmsim-bench/simserver/recording"
)

// Each piece of a stream is at the client before the server says the next.
func TestStreamPassesAtOnce(t *testing.T) {
	next := make(chan struct{})
	var seen http.Request
	var body []byte
	r := start(t, func(w http.ResponseWriter, q *http.Request) {
		seen = *q
		body, _ = io.ReadAll(q.Body)
		say := startStream(w)
		say(": hello\n\n")
		for i := range 3 {
			<-next
			say(chunk(fmt.Sprint(i)))
		}
		<-next
		say(ending)
	}, nil)
	resp, err := r.ask(t, t.Context(), "/chat/completions?api-version=1&api-key=query-key-1", question)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	want := []string{": hello\n\n", chunk("0"), chunk("1"), chunk("2"), ending}
	for _, piece := range want {
		got := make([]byte, len(piece))
		if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != piece {
			t.Fatalf("the client got %q, %v, want %q", got, err, piece)
		}
		if piece != ending {
			next <- struct{}{}
		}
	}
	if rest, err := io.ReadAll(resp.Body); err != nil || len(rest) > 0 {
		t.Errorf("the client got %q and %v at the end", rest, err)
	}

	if got := seen.URL.RequestURI(); got != "/api/v1/chat/completions?api-version=1&api-key=query-key-1" {
		t.Errorf("upstream was asked for %s", got)
	}
	if string(body) != question || seen.Header.Get("Authorization") != "Bearer "+secret || seen.Header.Get("Openai-Organization") == "" {
		t.Errorf("upstream got %s with %v", body, seen.Header)
	}
	if seen.Header.Get("X-Hop") != "" || resp.Header.Get("Set-Cookie") != "set-cookie-1" {
		t.Errorf("headers up %v, down %v", seen.Header, resp.Header)
	}

	e := r.only(t, "")
	if said(e) != strings.Join(want, "") || e.Response.Status != 200 || len(e.Response.Segments) < len(want) {
		t.Errorf("%d segments: %q", len(e.Response.Segments), said(e))
	}
	if e.Request.Path != "/api/v1/chat/completions?api-version=1&api-key="+recording.Redacted || e.Request.BodyBytes != len(question) {
		t.Errorf("recorded %+v", e.Request)
	}
	a, err := e.Answer()
	if err != nil {
		t.Fatal(err)
	}
	c := a.Choices[0]
	if c.Content.Text != "012" || len(c.Content.Marks) != 3 || c.Content.Marks[0].AtNS >= c.Content.Marks[2].AtNS || e.End.AtNS < c.EndNS {
		t.Errorf("the answer is %+v", c)
	}
}

// Times count from the end of the request, however long its body takes to come.
func TestTimesCountFromTheRequestsEnd(t *testing.T) {
	const late = 50 * time.Millisecond
	r := start(t, func(w http.ResponseWriter, q *http.Request) { fmt.Fprint(w, "{}") }, nil)
	half, rest := io.Pipe()
	began := time.Now()
	go func() {
		_, _ = io.WriteString(rest, question[:20])
		time.Sleep(late)
		_, _ = io.WriteString(rest, question[20:])
		rest.Close()
	}()
	resp, err := http.Post(r.URL()+"/chat/completions", "application/json", half)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	took := time.Since(began)
	if e := r.only(t, ""); time.Duration(e.Response.HeadNS) > took-late {
		t.Errorf("the head came %v after the request, which took %v of %v", time.Duration(e.Response.HeadNS), late, took)
	}
}

func TestStreamThatBreaks(t *testing.T) {
	r := start(t, func(w http.ResponseWriter, q *http.Request) {
		say := startStream(w)
		say(chunk("a"))
		say("data: {\"cho")
		panic(http.ErrAbortHandler)
	}, nil)
	resp, err := r.ask(t, t.Context(), "/chat/completions", question)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got, err := io.ReadAll(resp.Body); err == nil || string(got) != chunk("a")+"data: {\"cho" {
		t.Errorf("the client got %q, %v", got, err)
	}
	e := r.only(t, "the recorded server's answer broke off: unexpected EOF")
	if said(e) != chunk("a")+"data: {\"cho" {
		t.Errorf("kept %q", said(e))
	}
}

func TestClientThatLeaves(t *testing.T) {
	left := make(chan struct{})
	r := start(t, func(w http.ResponseWriter, q *http.Request) {
		_, _ = io.Copy(io.Discard, q.Body)
		startStream(w)(chunk("a"))
		<-q.Context().Done() // upstream learns of it
		close(left)
	}, nil)
	ctx, leave := context.WithCancel(t.Context())
	resp, err := r.ask(t, ctx, "/chat/completions", question)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := bufio.NewReader(resp.Body).ReadString('}'); err != nil {
		t.Fatal(err)
	}
	leave()
	<-left
	if e := r.only(t, "the client left"); said(e) != chunk("a") {
		t.Errorf("kept %q", said(e))
	}
}

func TestSilentUpstream(t *testing.T) {
	for _, first := range []string{"", chunk("a")} {
		r := start(t, func(w http.ResponseWriter, q *http.Request) {
			_, _ = io.Copy(io.Discard, q.Body)
			if first != "" {
				startStream(w)(first)
			}
			<-q.Context().Done()
		}, func(o *Options) { o.Silence = 50 * time.Millisecond })
		resp, err := r.ask(t, t.Context(), "/chat/completions", question)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		switch {
		case first == "" && resp.StatusCode != http.StatusBadGateway:
			t.Errorf("status %d", resp.StatusCode)
		case first != "" && (err == nil || string(got) != first):
			t.Errorf("the client got %q, %v", got, err)
		}
		reason := "for too long"
		if first == "" {
			reason = "" // the transport's own limit may come first
			if e := r.exchanges(t)[0]; e.End.Complete || e.Response != nil {
				t.Errorf("recorded %+v", e)
			}
			continue
		}
		r.only(t, reason)
	}
}

func TestUnreachableUpstream(t *testing.T) {
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody.Close()
	r := start(t, nil, func(o *Options) { o.Upstream = "http://" + nobody.Addr().String() })
	for _, path := range []string{"/chat/completions", "/models"} {
		resp, err := r.ask(t, t.Context(), path, question)
		if err != nil {
			t.Fatal(err)
		}
		var body struct {
			Error struct{ Message, Type, Code string }
		}
		err = json.NewDecoder(resp.Body).Decode(&body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusBadGateway || body.Error.Code != "upstream_failed" || body.Error.Type != "server_error" ||
			!strings.HasPrefix(body.Error.Message, "the recorded server did not answer: dial tcp") {
			t.Errorf("%s: status %d, %+v, %v", path, resp.StatusCode, body, err)
		}
	}
	if e := r.only(t, "the recorded server did not answer: dial tcp"); e.Response != nil {
		t.Errorf("recorded a response: %+v", e.Response)
	}
}

// A server that compresses unasked: the client gets its bytes, the file the text.
func TestGzip(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	fmt.Fprint(w, chunk("packed, for "+secret), ending)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	accepted := make(chan string, 1)
	r := start(t, func(w http.ResponseWriter, q *http.Request) {
		accepted <- q.Header.Get("Accept-Encoding")
		w.Header().Set("Content-Encoding", "gzip")
		startStream(w)(packed.String())
	}, nil)
	q, err := http.NewRequest(http.MethodPost, r.URL()+"/chat/completions", strings.NewReader(question))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Accept-Encoding", "gzip, br") // so that the client decodes nothing by itself
	q.Header.Set("Authorization", "Bearer "+secret)
	resp, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got, err := io.ReadAll(resp.Body); err != nil || !bytes.Equal(got, packed.Bytes()) || resp.Header.Get("Content-Encoding") != "gzip" {
		t.Errorf("the client got %d bytes of %d, %v, as %v", len(got), packed.Len(), err, resp.Header)
	}
	if got := <-accepted; got != "identity" {
		t.Errorf("upstream was asked for %q", got)
	}
	if e := r.only(t, ""); said(e) != chunk("packed, for "+recording.Redacted)+ending || e.Response.Decoded != "gzip" {
		t.Errorf("kept %q, decoded %q", said(e), e.Response.Decoded)
	}
}

// One that can't be decoded could have a key in it: the client gets it, the file
// does not.
func TestOtherEncoding(t *testing.T) {
	r := start(t, func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("Content-Encoding", "br")
		startStream(w)("packed")
	}, nil)
	resp, err := r.ask(t, t.Context(), "/chat/completions", question)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got, err := io.ReadAll(resp.Body); err != nil || string(got) != "packed" {
		t.Errorf("the client got %q, %v", got, err)
	}
	if e := r.only(t, `the response has the content encoding "br"`); said(e) != "" || e.Response.Status != 200 {
		t.Errorf("kept %q", said(e))
	}
}

func TestBigBodies(t *testing.T) {
	const size = 1 << 20
	long := strings.Repeat("long ", size/5)
	r := start(t, func(w http.ResponseWriter, q *http.Request) {
		n, _ := io.Copy(io.Discard, q.Body)
		fmt.Fprintf(w, "%d%s", n, long)
	}, func(o *Options) { o.MaxBodyBytes, o.MaxResponseBytes = size+200, size })
	body := strings.Replace(question, "hi", strings.Repeat("x", size), 1)
	resp, err := r.ask(t, t.Context(), "/chat/completions", body)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil || string(got) != fmt.Sprint(len(body))+long {
		t.Errorf("the client got %d bytes, %v", len(got), err)
	}
	resp, err = r.ask(t, t.Context(), "/chat/completions", strings.Replace(question, "hi", strings.Repeat("x", size+300), 1))
	if err != nil {
		t.Fatal(err)
	}
	refusal, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil || resp.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(string(refusal), `"the body is larger than the limit of 1048776 bytes"`) {
		t.Errorf("a body over the limit: %d %s, %v", resp.StatusCode, refusal, err)
	}
	e := r.only(t, "the answer has more than 1048576 bytes")
	if kept := said(e); len(kept) > size || !strings.HasPrefix(string(got), kept) || len(e.Request.Body) < size {
		t.Errorf("kept %d bytes of the answer, %d of the question", len(kept), len(e.Request.Body))
	}
}

func TestErrorOfUpstream(t *testing.T) {
	r := start(t, func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusTooManyRequests)
		fmt.Fprintf(w, `{"error":{"message":"%s of org-0123456789 asks too much","type":"tokens","code":"rate_limit_exceeded"}}`, secret)
	}, nil)
	resp, err := r.ask(t, t.Context(), "/chat/completions", question)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusTooManyRequests || !strings.Contains(string(got), secret) || resp.Header.Get("Retry-After") != "7" {
		t.Errorf("the client got %d %s, %v", resp.StatusCode, got, err)
	}
	a, err := r.only(t, "").Answer()
	if err != nil {
		t.Fatal(err)
	}
	want := recording.Error{Status: 429, Message: "[redacted] of [redacted] asks too much", Type: "tokens", Code: "rate_limit_exceeded", RetryAfter: 7}
	if a.Error == nil || *a.Error != want {
		t.Errorf("recorded %+v, want %+v", a.Error, want)
	}
}

func TestConcurrentExchanges(t *testing.T) {
	const clients = 16
	var together sync.WaitGroup
	together.Add(clients)
	r := start(t, func(w http.ResponseWriter, q *http.Request) {
		var asked struct{ Messages []struct{ Content string } }
		_ = json.NewDecoder(q.Body).Decode(&asked)
		together.Done()
		together.Wait()
		say := startStream(w)
		for range 20 {
			say(chunk(asked.Messages[0].Content))
		}
		say(ending)
	}, nil)
	var done sync.WaitGroup
	for i := range clients {
		done.Go(func() {
			resp, err := r.ask(t, t.Context(), "/chat/completions", strings.Replace(question, `"hi"`, fmt.Sprintf(`"<%d>"`, i), 1))
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			if _, err := io.ReadAll(resp.Body); err != nil {
				t.Error(err)
			}
		})
	}
	done.Wait()
	found := map[string]bool{}
	for _, e := range r.exchanges(t) {
		var asked struct{ Messages []struct{ Content string } }
		a, err := e.Answer()
		if err := errors.Join(err, json.Unmarshal(e.Request.Body, &asked)); err != nil {
			t.Fatal(err)
		}
		text := asked.Messages[0].Content
		if a.Choices[0].Content.Text != strings.Repeat(text, 20) || found[text] {
			t.Errorf("%s was answered %q", text, a.Choices[0].Content.Text)
		}
		found[text] = true
	}
	if len(found) != clients {
		t.Errorf("%d files, want %d", len(found), clients)
	}
}
