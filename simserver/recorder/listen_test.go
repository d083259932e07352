package recorder

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOtherPathsPassUnrecorded(t *testing.T) {
	r := start(t, func(w http.ResponseWriter, q *http.Request) { fmt.Fprint(w, q.Method, " ", q.URL.Path) }, nil)
	for path, want := range map[string]string{
		"/v1/models":             "GET /api/v1/models",
		"/v1/chat/completions":   "GET /api/v1/chat/completions",
		"/v1/models/org%2Fm":     "GET /api/v1/models/org/m",
		"/v1":                    "GET /api/v1/",
		"/health":                "unknown path /health, must be one below /v1",
		"/v1/%2e%2e/admin":       "unknown path /v1/../admin",
		"/v1/x%2f..%2f../secret": "unknown path /v1/x/../../secret",
	} {
		resp, err := http.Get("http://" + r.Address() + path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || !strings.Contains(string(got), want) || (resp.StatusCode == 404) != strings.HasPrefix(want, "unknown") {
			t.Errorf("%s: %d %s, %v, want %s", path, resp.StatusCode, got, err, want)
		}
	}
	if all := r.exchanges(t); len(all) != 0 {
		t.Errorf("%d files, want none", len(all))
	}
}

func TestUpstreamsCertificateIsVerified(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {}))
	defer server.Close()
	server.Config.ErrorLog = nil
	r := start(t, nil, func(o *Options) { o.Upstream = server.URL })
	resp, err := r.ask(t, t.Context(), "/chat/completions", question)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusBadGateway {
		t.Errorf("an unknown authority: %s", resp.Status)
	}
	r.only(t, "certificate")
}

func TestFileThatCannotBeWritten(t *testing.T) {
	r := start(t, func(w http.ResponseWriter, q *http.Request) { fmt.Fprint(w, "{}") }, nil)
	if err := os.RemoveAll(r.dir); err != nil {
		t.Fatal(err)
	}
	resp, err := r.ask(t, t.Context(), "/chat/completions", question)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(resp.Body); err != nil || string(got) != "{}" {
		t.Errorf("the client got %s, %v", got, err)
	}
	resp.Body.Close()
	if err := <-r.failed; !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func TestListenRefuses(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for want, o := range map[string]Options{
		`"api.example.com" is not one to proxy to`: {Upstream: "api.example.com", Dir: dir},
		`"ftp://x" is not one to proxy to`:         {Upstream: "ftp://x", Dir: dir},
		"is not a URL":                             {Upstream: "http://a b/" + secret, Dir: dir},
		"has a user or password":                   {Upstream: "http://u:" + "pw-1" + "@x", Dir: dir},
		`has the fragment "f"`:                     {Upstream: "http://x#f", Dir: dir},
		"make the directory":                       {Upstream: "http://x", Dir: file},
	} {
		r, err := Listen("127.0.0.1:0", o)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "pw-1") {
			t.Errorf("%+v: %v, %v", o, r, err)
		}
	}
	r, err := Listen("127.0.0.1:0", Options{Upstream: "http://x", Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := net.Dial("tcp", r.Address()); err == nil {
		t.Error("a recorder that never served still listens")
	}
}
