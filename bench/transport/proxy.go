package transport

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"

	"github.com/valyala/fasthttp"
)

// proxyForm is what errors show as right.
const proxyForm = "want something like http://user:password@proxy.example:3128"

// ParseProxy reads the URL of an HTTP proxy, http://[user:password@]host[:port]
// or https for a proxy that is itself reached by TLS; the port is 80 or 443 if
// there is none. Its errors don't repeat a password.
func ParseProxy(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil {
		var inner *url.Error
		if errors.As(err, &inner) {
			err = inner.Err // the outer one repeats raw, password and all
		}
		return nil, fmt.Errorf("bad proxy URL: %w; %s", err, proxyForm)
	}
	if _, err := newProxy(u, nil); err != nil {
		return nil, err
	}
	return u, nil
}

// proxy is where requests go instead of to their target.
type proxy struct {
	address string      // host:port
	tls     *tls.Config // nil if it is spoken to in the clear
	auth    string      // Proxy-Authorization's value; empty if there is none
}

// newProxy reads a proxy's URL. base is the TLS configuration of a proxy reached
// by TLS; nil is the default.
func newProxy(u *url.URL, base *tls.Config) (*proxy, error) {
	bad := func(what string) (*proxy, error) {
		return nil, fmt.Errorf("bad proxy URL %q: %s; %s", u.Redacted(), what, proxyForm)
	}
	user := u.User.Username()
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return bad("the scheme is neither http nor https")
	case u.Hostname() == "":
		return bad("there is no host")
	case strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		return bad("a path, query or fragment in it would be lost")
	case strings.Contains(user, ":"):
		return bad("a user name can't hold a colon")
	}
	port, ok := portOf(u)
	if !ok {
		return bad("the port is not between 1 and 65535")
	}
	p := &proxy{address: net.JoinHostPort(u.Hostname(), port)}
	if u.User != nil {
		password, _ := u.User.Password()
		p.auth = "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
	}
	if u.Scheme == "https" {
		p.tls = clientTLS(base, "")
		p.tls.ServerName = withoutZone(u.Hostname())
	}
	return p, nil
}

// pass takes a connection to the proxy as far as requests for the target can be
// sent on it.
func (p *proxy) pass(d dialling, stream net.Conn, target Target) (net.Conn, error) {
	if p.tls != nil {
		secure := tls.Client(stream, p.tls)
		if err := secure.HandshakeContext(d.ctx); err != nil {
			return nil, fmt.Errorf("TLS handshake: %w", err)
		}
		stream = secure
	}
	if !target.TLS {
		return stream, nil
	}
	release := context.AfterFunc(d.ctx, func() {
		// It fails only on a closed connection, which blocks nobody.
		_ = stream.SetDeadline(longAgo)
	})
	err := p.connect(stream, target.Address)
	if !release() && err == nil {
		err = context.Cause(d.ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("CONNECT %s: %w", target.Address, err)
	}
	return stream, nil
}

// connect asks the proxy for a tunnel.
func (p *proxy) connect(stream net.Conn, address string) error {
	request := "CONNECT " + address + " HTTP/1.1\r\nHost: " + address + "\r\nUser-Agent: " + userAgent + "\r\n"
	if p.auth != "" {
		request += "Proxy-Authorization: " + p.auth + "\r\n"
	}
	if _, err := io.WriteString(stream, request+"\r\n"); err != nil {
		return err
	}
	var h fasthttp.ResponseHeader
	br := bufio.NewReaderSize(stream, readBuffer)
	if _, err := peekLine(br); err != nil {
		return err
	}
	if err := h.Read(br); err != nil {
		return fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	status := h.StatusCode()
	switch {
	case status == fasthttp.StatusProxyAuthRequired && p.auth == "":
		return fmt.Errorf("it wants a user name and password (status %d); %s", status, proxyForm)
	case status == fasthttp.StatusProxyAuthRequired:
		return fmt.Errorf("it does not accept the user name and password (status %d)", status)
	case status < 200 || status > 299:
		return fmt.Errorf("it refuses with status %d %s", status, fasthttp.StatusMessage(status))
	case br.Buffered() > 0:
		return fmt.Errorf("%w: it sent more than its answer", ErrProtocol)
	}
	return nil
}
