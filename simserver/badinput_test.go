package simserver_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"llmsim-bench/simserver"
	"llmsim-bench/simserver/simtest"
)

// problem is an error body in OpenAI's form.
type problem struct {
	Error *struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    *string `json:"code"`
	} `json:"error"`
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func TestBadRequestsAreNamed(t *testing.T) {
	sim := simtest.Start(t, simtest.WithModels(testModels), simtest.WithServer(simserver.Options{MaxBodyBytes: 100_000}))
	get := func(method, path string) string { return method + " " + path + " HTTP/1.1\r\nHost: sim\r\n\r\n" }
	for _, c := range []struct {
		name, request string
		status        int
		param, says   string
	}{
		{"unknown model", postChat(chatBody("gpt", 5, "")), 404, "model", `"gpt" does not exist`},
		{"unknown model by name", get("GET", "/v1/models/gpt"), 404, "model", `"gpt" does not exist`},
		{"malformed JSON", postChat(`{"model":`), 400, "", "not valid JSON"},
		{"wrong type", postChat(`{"model":"fast","messages":"hi"}`), 400, "messages", "must be an array"},
		{"too long an answer", postChat(chatBody("fast", 5000, "")), 400, "messages", "maximum context length is 4096 tokens"},
		{"too long a prompt", postChat(`{"model":"fast","messages":[{"role":"user","content":"` + strings.Repeat("a ", 4096) + `"}]}`), 400, "messages", "4096"},
		{"most tokens there are", postChat(chatBody("fast", 1<<62, "")), 400, "messages", "maximum context length"},
		{"unknown path", post("/v1/nothing", "{}"), 404, "", "unknown path /v1/nothing"},
		{"wrong method", get("GET", "/v1/chat/completions"), 405, "", "use POST"},
		{"wrong method on models", post("/v1/models", "{}"), 405, "", "use GET"},
		{"body over the limit", postChat(chatBody("fast", 5, `,"user":"`+strings.Repeat("x", 5_000_000)+`"`)), 413, "", "limit of 100000 bytes"},
		{"no HTTP", "hello\r\n\r\n", 400, "", "not a readable HTTP request"},
		{"huge header", postChat(chatBody("fast", 5, ""), "X-Big: "+strings.Repeat("x", 100_000)), 431, "", "headers are too large"},
		{"long phase", postChat(chatBody("fast", 5, ""), "X-LLMSim-Phase: "+strings.Repeat("x", 200)), 400, "X-LLMSim-Phase", "200 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			conn, r := dial(t, sim)
			sent := make(chan error, 1)
			go func() {
				_, err := io.WriteString(conn, c.request)
				sent <- err
			}()
			resp, body := answer(t, r)
			if err := <-sent; err != nil {
				t.Errorf("the request could not be sent whole: %v", err)
			}
			var p problem
			if err := json.Unmarshal([]byte(body), &p); err != nil || p.Error == nil || p.Error.Type == "" {
				t.Fatalf("no error in OpenAI's form: %s (%v)", body, err)
			}
			if resp.StatusCode != c.status || deref(p.Error.Param) != c.param || !strings.Contains(p.Error.Message, c.says) {
				t.Errorf("status %d, param %q, message %q; want %d, %q, …%s…",
					resp.StatusCode, deref(p.Error.Param), p.Error.Message, c.status, c.param, c.says)
			}
			if c.status == http.StatusRequestEntityTooLarge && !resp.Close {
				t.Error("the connection of a body that is not read is said to stay open")
			}
			if c.status == http.StatusMethodNotAllowed && resp.Header.Get("Allow") == "" {
				t.Error("405 without an Allow header")
			}
		})
	}
	for name, m := range summary(t, sim, "").Models {
		if m.Requests.Received != 0 {
			t.Errorf("%s counts %d refused requests as received", name, m.Requests.Received)
		}
	}
}

// An error leaves the connection usable and its neighbours alone.
func TestABadRequestDisturbsNobody(t *testing.T) {
	sim := startFast(t)
	streaming, streamReader := dial(t, sim)
	send(t, streaming, postChat(chatBody("endless", 200, `,"stream":true`)))
	conn, r := dial(t, sim)
	for range 20 {
		send(t, conn, postChat(`{"model":7}`)+postChat(chatBody("fast", 3, "")))
		if resp, _ := answer(t, r); resp.StatusCode != http.StatusBadRequest {
			t.Fatalf("bad request: %s", resp.Status)
		}
		if resp, body := answer(t, r); resp.StatusCode != http.StatusOK {
			t.Fatalf("good request behind it: %s %s", resp.Status, body)
		}
	}
	if _, body := answer(t, streamReader); strings.Count(body, `"delta":{"content":`) != 200 {
		t.Error("the stream beside them lost tokens")
	}
}

func TestOldAndClosingClients(t *testing.T) {
	sim := startFast(t)
	for name, request := range map[string]string{
		"HTTP/1.0": strings.Replace(postChat(chatBody("fast", 10, `,"stream":true`)), "HTTP/1.1", "HTTP/1.0", 1),
		"close":    postChat(chatBody("fast", 10, `,"stream":true`), "Connection: close"),
	} {
		t.Run(name, func(t *testing.T) {
			conn, r := dial(t, sim)
			send(t, conn, request)
			resp, body := answer(t, r)
			if n := strings.Count(body, `"delta":{"content":`); n != 10 || !strings.HasSuffix(body, "data: [DONE]\n\n") {
				t.Errorf("%d tokens in %q", n, body)
			}
			if chunked := len(resp.TransferEncoding) > 0; chunked != (name != "HTTP/1.0") {
				t.Errorf("transfer encoding %v", resp.TransferEncoding)
			}
			if _, err := r.ReadByte(); err != io.EOF {
				t.Errorf("the connection was not closed: %v", err)
			}
		})
	}
}

func TestExpectContinue(t *testing.T) {
	sim := startFast(t)
	conn, r := dial(t, sim)
	body := chatBody("fast", 3, "")
	send(t, conn, fmt.Sprintf("POST /v1/chat/completions HTTP/1.1\r\nHost: sim\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", len(body)))
	interim, err := http.ReadResponse(r, nil)
	if err != nil || interim.StatusCode != http.StatusContinue {
		t.Fatalf("%+v, %v", interim, err)
	}
	send(t, conn, body)
	if resp, text := answer(t, r); resp.StatusCode != http.StatusOK {
		t.Errorf("%s %s", resp.Status, text)
	}
}

func TestPlainRoutes(t *testing.T) {
	sim := startFast(t)
	conn, r := dial(t, sim)
	ask := func(method, path string) string {
		send(t, conn, method+" "+path+" HTTP/1.1\r\nHost: sim\r\nContent-Length: 0\r\n\r\n")
		resp, body := answer(t, r)
		if resp.StatusCode != http.StatusOK || resp.Header.Get("Server") != "llmsim-bench" {
			t.Errorf("%s %s: %s, server %q", method, path, resp.Status, resp.Header.Get("Server"))
		}
		return body
	}
	if got := ask("GET", "/version"); got != `{"name":"llmsim-bench","version":"dev"}` {
		t.Errorf("version: %s", got)
	}
	send(t, conn, postChat(chatBody("fast", 3, "")))
	answer(t, r)
	received := func() int64 { return summary(t, sim, "").Models["fast"].Requests.Received }
	if n := received(); n != 1 {
		t.Errorf("%d requests counted, want 1", n)
	}
	ask("POST", "/metrics/summary/reset")
	if n := received(); n != 0 {
		t.Errorf("%d requests counted after a reset, want 0", n)
	}
}
