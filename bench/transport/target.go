// Package transport carries one request at a time over connections of its own:
// it dials, keeps idle connections, frames HTTP/1.1 with fasthttp's header
// codecs, and reads a body as its bytes arrive, each with its instant. Every
// dial, reuse and failure is the caller's to see: it retries nothing, caps
// nothing, and knows nothing of what the bodies say.
package transport

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"
)

// Target is where requests go.
type Target struct {
	// Address is host:port, as net.Dial takes it.
	Address string
	// Host is the Host header's value.
	Host string
	// TLS says that the scheme is https.
	TLS bool
	// BasePath is the URL's path without a slash at its end, such as "/v1".
	BasePath string
}

// ParseTarget reads a base URL such as http://localhost:8080/v1 or
// https://[::1]/v1.
func ParseTarget(raw string) (Target, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return Target{}, fmt.Errorf("bad URL %q: %w; want something like http://localhost:8080/v1", raw, err)
	}
	bad := func(what string) (Target, error) {
		return Target{}, fmt.Errorf("bad URL %q: %s; want something like http://localhost:8080/v1", raw, what)
	}
	port := u.Port()
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return bad("the scheme is neither http nor https")
	case u.Hostname() == "":
		return bad("there is no host")
	case u.User != nil:
		return bad("a user name or password in it is not supported")
	case u.RawQuery != "" || u.Fragment != "":
		return bad("a query or fragment in it would be lost")
	case port == "" && u.Scheme == "http":
		port = "80"
	case port == "":
		port = "443"
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return bad("the port is not between 1 and 65535")
	}
	return Target{
		Address:  net.JoinHostPort(u.Hostname(), port),
		Host:     u.Host,
		TLS:      u.Scheme == "https",
		BasePath: strings.TrimRight(u.EscapedPath(), "/"),
	}, nil
}

// Header is one request header.
type Header struct{ Name, Value string }

// AppendRequest appends a whole request to dst, ready for Conn.Send. path is the
// full path, BasePath included. A body that is not empty goes as JSON.
func (t Target) AppendRequest(dst []byte, method, path string, headers []Header, body []byte) []byte {
	var h fasthttp.RequestHeader
	h.DisableNormalizing()
	h.SetMethod(method)
	h.SetRequestURI(path)
	h.SetHost(t.Host)
	h.SetUserAgent("llmsim-bench")
	h.Set("Accept-Encoding", "identity")
	if len(body) > 0 {
		h.SetContentType("application/json")
		h.SetContentLength(len(body))
	}
	for _, extra := range headers {
		h.Set(extra.Name, extra.Value)
	}
	return append(h.AppendBytes(dst), body...)
}
