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
	port, portOK := portOf(u)
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return bad("the scheme is neither http nor https")
	case u.Hostname() == "":
		return bad("there is no host")
	case u.User != nil:
		return bad("a user name or password in it is not supported")
	case u.RawQuery != "" || u.Fragment != "":
		return bad("a query or fragment in it would be lost")
	case !portOK:
		return bad("the port is not between 1 and 65535")
	}
	host := u.Host
	if zone := strings.Index(host, "%"); zone >= 0 {
		host = host[:zone] + host[strings.LastIndex(host, "]"):]
	}
	return Target{
		Address:  net.JoinHostPort(u.Hostname(), port),
		Host:     host,
		TLS:      u.Scheme == "https",
		BasePath: strings.TrimRight(u.EscapedPath(), "/"),
	}, nil
}

// portOf returns the port of an http or https URL, its scheme's if it has none.
func portOf(u *url.URL) (port string, ok bool) {
	switch {
	case u.Port() != "":
		n, err := strconv.ParseUint(u.Port(), 10, 16)
		return u.Port(), err == nil && n > 0
	case u.Scheme == "https":
		return "443", true
	}
	return "80", true
}

// withoutZone returns a host without the zone of an IPv6 address, which means
// something on this machine only.
func withoutZone(host string) string {
	host, _, _ = strings.Cut(host, "%")
	return host
}

// Header is one request header.
type Header struct{ Name, Value string }

// userAgent is what requests say they come from.
const userAgent = "llmsim-bench"

// AppendRequest appends a whole request to dst, as the target itself wants it.
// path is the full path, BasePath included. A body that is not empty goes as
// JSON. Pool.AppendRequest minds a proxy too.
func (t Target) AppendRequest(dst []byte, method, path string, headers []Header, body []byte) []byte {
	return t.appendRequest(dst, method, path, "", headers, body)
}

// appendRequest takes the request target as it is sent, and the value of
// Proxy-Authorization, which is left out if empty.
func (t Target) appendRequest(dst []byte, method, uri, proxyAuth string, headers []Header, body []byte) []byte {
	var h fasthttp.RequestHeader
	h.DisableNormalizing()
	h.SetMethod(method)
	h.SetRequestURI(uri)
	h.SetHost(t.Host)
	h.SetUserAgent(userAgent)
	h.Set("Accept-Encoding", "identity")
	if len(body) > 0 {
		h.SetContentType("application/json")
		h.SetContentLength(len(body))
	}
	if proxyAuth != "" {
		h.Set("Proxy-Authorization", proxyAuth)
	}
	for _, extra := range headers {
		h.Set(extra.Name, extra.Value)
	}
	return append(h.AppendBytes(dst), body...)
}
