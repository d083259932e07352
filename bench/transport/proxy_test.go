package transport

import (
	"bufio"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// testProxy is an HTTP proxy that remembers what it was asked.
type testProxy struct {
	url     *url.URL
	asked   chan *http.Request
	refusal string // sent instead of passing anything on
	tls     *tls.Config
}

// newTestProxy starts a proxy, reached by TLS if secure.
func newTestProxy(t *testing.T, secure bool) *testProxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	p := &testProxy{url: &url.URL{Scheme: "http", Host: l.Addr().String()}, asked: make(chan *http.Request, 10)}
	if secure {
		p.url.Scheme = "https"
		p.tls, _ = testTLS(t)
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if secure {
				c = tls.Server(c, p.tls)
			}
			go p.serve(c)
		}
	}()
	return p
}

func (p *testProxy) serve(c net.Conn) {
	defer c.Close()
	br := bufio.NewReader(c)
	for {
		req, err := http.ReadRequest(br)
		if err != nil {
			return
		}
		p.asked <- req
		if p.refusal != "" {
			io.WriteString(c, p.refusal)
			continue
		}
		if req.Method != http.MethodConnect {
			io.WriteString(c, hello)
			continue
		}
		to, err := net.Dial("tcp", req.Host)
		if err != nil {
			return
		}
		io.WriteString(c, "HTTP/1.1 200 Connection established\r\n\r\n")
		go func() {
			io.Copy(to, br)
			to.Close()
		}()
		io.Copy(c, to)
		return
	}
}

// ask sends a request by a pool and returns the text of its answer.
func ask(t *testing.T, p *Pool) string {
	t.Helper()
	c := get(t, p)
	if _, err := c.Send(p.AppendRequest(nil, "GET", "/v1/models", nil, nil)); err != nil {
		t.Fatal(err)
	}
	_, text, err := readAll(c)
	if err != nil {
		t.Fatal(err)
	}
	p.Put(c)
	return text
}

func TestProxyOfPlainTarget(t *testing.T) {
	for _, secure := range []bool{false, true} {
		proxy := newTestProxy(t, secure)
		_, client := testTLS(t)
		proxy.url.User = url.UserPassword("me", "p:ss")
		p := newPool(t, Config{Target: Target{Address: "model.invalid:80", Host: "model.invalid"}, Proxy: proxy.url, TLS: client})
		for range 2 {
			if text := ask(t, p); text != "hello" {
				t.Errorf("%q", text)
			}
			req := <-proxy.asked
			auth := "Basic " + base64.StdEncoding.EncodeToString([]byte("me:p:ss"))
			if req.RequestURI != "http://model.invalid/v1/models" || req.Host != "model.invalid" || req.Header.Get("Proxy-Authorization") != auth {
				t.Errorf("%q, host %q, %v", req.RequestURI, req.Host, req.Header)
			}
		}
		if s := dialled(p); s != (Stats{Dials: 1, Reuses: 1}) {
			t.Errorf("%+v", s)
		}
	}
}

func TestProxyOfSecureTarget(t *testing.T) {
	for _, secure := range []bool{false, true} {
		inside := make(chan *http.Request, 10)
		srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			inside <- r
			io.WriteString(w, "hello")
		}))
		t.Cleanup(srv.Close)
		target, err := ParseTarget(srv.URL)
		if err != nil {
			t.Fatal(err)
		}
		proxy := newTestProxy(t, secure)
		_, client := testTLS(t)
		proxy.url.User = url.User("me")
		p := newPool(t, Config{Target: target, Proxy: proxy.url, TLS: client})
		for range 2 {
			if text := ask(t, p); text != "hello" {
				t.Errorf("%q", text)
			}
			if r := <-inside; r.RequestURI != "/v1/models" || r.Host != target.Host || r.Header.Get("Proxy-Authorization") != "" {
				t.Errorf("the target is asked %q, host %q, %v", r.RequestURI, r.Host, r.Header)
			}
		}
		req := <-proxy.asked
		if req.Method != "CONNECT" || req.RequestURI != target.Address || req.Host != target.Address ||
			req.Header.Get("Proxy-Authorization") != "Basic "+base64.StdEncoding.EncodeToString([]byte("me:")) {
			t.Errorf("%s %s, host %q, %v", req.Method, req.RequestURI, req.Host, req.Header)
		}
		if s := dialled(p); s != (Stats{Dials: 1, Reuses: 1}) || len(proxy.asked) != 0 {
			t.Errorf("%+v", s)
		}
	}
}

func TestProxyThatRefuses(t *testing.T) {
	for _, tt := range []struct {
		answer, user, want string
	}{
		{"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n", "", "wants a user name and password"},
		{"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n", "secret", "does not accept the user name"},
		{"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n", "", "status 403 Forbidden"},
		{"HTTP/1.1 200 OK\r\n\r\nhello", "", "more than its answer"},
		{"SSH-2.0\r\n\r\n", "", "not HTTP/1.1"},
	} {
		proxy := newTestProxy(t, false)
		proxy.refusal = tt.answer
		if tt.user != "" {
			proxy.url.User = url.UserPassword("me", tt.user)
		}
		p := newPool(t, Config{Target: Target{Address: "model.invalid:443", TLS: true}, Proxy: proxy.url})
		_, err := p.Get(testContext(t))
		var dial *DialError
		if !errors.As(err, &dial) || dial.Phase != PhaseProxy || dial.Address != proxy.url.Host ||
			!strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "CONNECT model.invalid:443") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%v; want %q", err, tt.want)
		}
	}
}

// A proxy that can't be reached is the proxy's failure, not the target's.
func TestProxyThatIsNotThere(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	p := newPool(t, Config{Target: Target{Address: "model.invalid:80"}, Proxy: &url.URL{Scheme: "http", Host: l.Addr().String()}})
	_, err = p.Get(testContext(t))
	var outer, inner *DialError
	if !errors.As(err, &outer) || outer.Phase != PhaseProxy || !errors.As(outer.Err, &inner) || inner.Phase != PhaseConnect {
		t.Errorf("%v", err)
	}
}

func TestEnvironmentNamesNoProxy(t *testing.T) {
	proxy := newTestProxy(t, false)
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		t.Setenv(name, proxy.url.String())
	}
	for _, name := range []string{"NO_PROXY", "no_proxy"} {
		t.Setenv(name, "")
	}
	p := serve(t, func(c net.Conn, br *bufio.Reader) {
		req, err := http.ReadRequest(br)
		if err != nil {
			return
		}
		if req.RequestURI == "/v1/models" {
			io.WriteString(c, hello)
		}
	})
	// By a name, since loopback addresses are often exempt from such variables.
	p.cfg.Target.Host = "model.example"
	if text := ask(t, p); text != "hello" || len(proxy.asked) != 0 {
		t.Errorf("%q, and the proxy was asked %d times", text, len(proxy.asked))
	}
	p = serveTLS(t, func(_ *batch, c net.Conn, br *bufio.Reader) {
		if awaitRequest(br) {
			io.WriteString(c, hello)
		}
	})
	if text := ask(t, p); text != "hello" || len(proxy.asked) != 0 {
		t.Errorf("TLS: %q, and the proxy was asked %d times", text, len(proxy.asked))
	}
}

func TestParseProxy(t *testing.T) {
	for raw, want := range map[string]proxy{
		"http://proxy":                  {address: "proxy:80"},
		"http://[::1]:3128/":            {address: "[::1]:3128"},
		"HTTP://a:b%40c@127.0.0.1:3128": {address: "127.0.0.1:3128", auth: "Basic YTpiQGM="},
		"https://proxy.example":         {address: "proxy.example:443"},
	} {
		u, err := ParseProxy(raw)
		if err != nil {
			t.Errorf("%s: %v", raw, err)
			continue
		}
		got, err := newProxy(u, nil)
		if err != nil || got.address != want.address || got.auth != want.auth || (got.tls != nil) != (u.Scheme == "https") {
			t.Errorf("%s: %+v, %v", raw, got, err)
		}
	}
	for _, raw := range []string{
		"", "proxy:3128", "socks5://proxy", "http://", "http://me:secret@", "http://p/path", "http://p?a=b", "http://p#f", "http://p:0",
		"http://me:secret@p:65536", "http://me:secret@p:x", "http://me:sec ret@p", "http://a%3Ab:secret@p", "http://me:secret@[::1",
	} {
		if _, err := ParseProxy(raw); err == nil || !strings.Contains(err.Error(), proxyForm) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v; want an error that shows a good one and no password", raw, err)
		}
	}
	p := newPool(t, Config{Target: Target{Address: "127.0.0.1:1"}, Proxy: &url.URL{Scheme: "socks5", Host: "p"}})
	if _, err := p.Get(testContext(t)); err == nil || !strings.Contains(err.Error(), "bad proxy URL") {
		t.Errorf("a pool with a bad proxy: %v", err)
	}
}
