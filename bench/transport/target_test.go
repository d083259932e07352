package transport

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestParseTarget(t *testing.T) {
	for raw, want := range map[string]Target{
		"http://localhost:8080/v1":    {"localhost:8080", "localhost:8080", false, "/v1"},
		"http://localhost/v1/":        {"localhost:80", "localhost", false, "/v1"},
		"https://example.com":         {"example.com:443", "example.com", true, ""},
		"http://[::1]:9/a%20b":        {"[::1]:9", "[::1]:9", false, "/a%20b"},
		"https://[fe80::1]/v1":        {"[fe80::1]:443", "[fe80::1]", true, "/v1"},
		"http://[fe80::1%25eth0]:9":   {"[fe80::1%eth0]:9", "[fe80::1]:9", false, ""},
		"HTTP://127.0.0.1:65535/x//":  {"127.0.0.1:65535", "127.0.0.1:65535", false, "/x"},
		"https://example.com:8443/v1": {"example.com:8443", "example.com:8443", true, "/v1"},
	} {
		if got, err := ParseTarget(raw); err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", raw, got, err, want)
		}
	}
	for _, raw := range []string{
		"", "localhost:8080", "ftp://x", "http://", "http:///v1", "http://x:0", "http://x:65536", "http://x:http",
		"http://u:p@x", "http://x/v1?a=b", "http://x/#f", "http://[::1", "http://x y/",
	} {
		if got, err := ParseTarget(raw); err == nil || !strings.Contains(err.Error(), "http://localhost:8080/v1") {
			t.Errorf("%q: %+v, %v; want an error that shows a good one", raw, got, err)
		}
	}
}

func TestAppendRequest(t *testing.T) {
	target := Target{Host: "example.com:8080"}
	raw := target.AppendRequest([]byte("GET / HTTP/1.1\r\n\r\n"), "POST", "/v1/chat/completions",
		[]Header{{"Authorization", "Bearer k\r\nX-Smuggled: 1"}, {"X-LLMSim-Phase", "run/measure"}}, []byte(`{"a":1}`))
	br := bufio.NewReader(strings.NewReader(strings.TrimPrefix(string(raw), "GET / HTTP/1.1\r\n\r\n")))
	req, err := http.ReadRequest(br)
	if err != nil {
		t.Fatalf("%v in %q", err, raw)
	}
	body, err := io.ReadAll(req.Body)
	if err != nil || string(body) != `{"a":1}` || br.Buffered() != 0 {
		t.Errorf("body %q, %v", body, err)
	}
	if req.Method != "POST" || req.URL.Path != "/v1/chat/completions" || req.Host != target.Host ||
		req.Header.Get("Accept-Encoding") != "identity" || req.Header.Get("Content-Type") != "application/json" ||
		req.Header.Get("X-Smuggled") != "" || req.Close {
		t.Errorf("%+v", req)
	}
	if !strings.Contains(string(raw), "\r\nX-LLMSim-Phase: run/measure\r\n") {
		t.Errorf("the header's name is not as given: %q", raw)
	}

	raw = target.AppendRequest(nil, "GET", "/v1/models", nil, nil)
	if s := string(raw); strings.Contains(s, "Content-") {
		t.Errorf("a request without a body speaks of one: %q", s)
	}
}
