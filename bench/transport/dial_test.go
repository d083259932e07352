package transport

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// silent is a server that accepts and says nothing.
func silent(t *testing.T) string {
	hang := make(chan struct{})
	p := serve(t, func(net.Conn, *bufio.Reader) { <-hang })
	t.Cleanup(func() { close(hang) })
	return p.Target().Address
}

// Whatever hangs, the timeout ends it, and says in which phase and after how long.
func TestConnectTimeout(t *testing.T) {
	const limit = 20 * time.Millisecond
	mute := silent(t)
	for _, tt := range []struct {
		name  string
		cfg   Config
		setUp func(p *Pool)
		phase Phase
		want  string
	}{
		{"lookup", Config{Target: Target{Address: "model.invalid:80"}}, func(p *Pool) {
			p.dialer.Resolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}}
		}, PhaseLookup, "look up model.invalid:80: timed out after 20ms"},
		{"connect", Config{Target: Target{Address: "127.0.0.1:1"}}, func(p *Pool) {
			p.dialer.ControlContext = func(ctx context.Context, _, _ string, _ syscall.RawConn) error {
				<-ctx.Done()
				return ctx.Err()
			}
		}, PhaseConnect, "connect to 127.0.0.1:1: timed out after 20ms"},
		{"TLS", Config{Target: Target{Address: mute, TLS: true}}, nil, PhaseTLS, "TLS handshake with " + mute + ": timed out after 20ms"},
		{
			"CONNECT",
			Config{Target: Target{Address: "model.invalid:443", TLS: true}, Proxy: &url.URL{Scheme: "http", Host: mute}},
			nil, PhaseProxy, "proxy " + mute + ": timed out after 20ms",
		},
		{
			"TLS of the proxy",
			Config{Target: Target{Address: "model.invalid:80"}, Proxy: &url.URL{Scheme: "https", Host: mute}},
			nil, PhaseProxy, "proxy " + mute + ": timed out after 20ms",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.cfg.ConnectTimeout = limit
			p := newPool(t, tt.cfg)
			if tt.setUp != nil {
				tt.setUp(p)
			}
			_, err := p.Get(testContext(t))
			var dial *DialError
			if !errors.Is(err, ErrConnectTimeout) || !errors.As(err, &dial) || dial.Phase != tt.phase || err.Error() != tt.want {
				t.Errorf("%v; want %s", err, tt.want)
			}
		})
	}
}

// The caller's own end is no connect timeout.
func TestCallerEndsDial(t *testing.T) {
	mute := silent(t)
	why := errors.New("enough")
	for name, cfg := range map[string]Config{
		"TLS":     {Target: Target{Address: mute, TLS: true}},
		"CONNECT": {Target: Target{Address: "model.invalid:443", TLS: true}, Proxy: &url.URL{Scheme: "http", Host: mute}},
	} {
		cfg.ConnectTimeout = patience
		ctx, cancel := context.WithTimeoutCause(t.Context(), 10*time.Millisecond, why)
		if _, err := newPool(t, cfg).Get(ctx); !errors.Is(err, why) || errors.Is(err, ErrConnectTimeout) {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
	}
}

func TestPhaseOfFailure(t *testing.T) {
	plain := serve(t, func(c net.Conn, _ *bufio.Reader) { io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n") })
	gone := errors.New("no such host")
	for name, tt := range map[string]struct {
		target Target
		phase  Phase
	}{
		"lookup": {Target{Address: "model.invalid:80"}, PhaseLookup},
		"TLS":    {Target{Address: plain.Target().Address, TLS: true}, PhaseTLS},
	} {
		p := newPool(t, Config{Target: tt.target, ConnectTimeout: patience})
		p.dialer.Resolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) { return nil, gone }}
		_, err := p.Get(testContext(t))
		var dial *DialError
		if !errors.As(err, &dial) || dial.Phase != tt.phase || dial.Address != tt.target.Address || errors.Is(err, ErrConnectTimeout) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestExhaustionIsExplained(t *testing.T) {
	for cause, want := range map[error]string{errNoPort: "ephemeral", errNoFile: "ulimit -n", errNoFileAnywhere: "ulimit -n"} {
		p := newPool(t, Config{Target: Target{Address: "127.0.0.1:1"}})
		p.dialer.Control = func(string, string, syscall.RawConn) error { return os.NewSyscallError("connect", cause) }
		if _, err := p.Get(testContext(t)); !errors.Is(err, cause) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), cause.Error()) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}

// A pool caps nothing: as many connections as are asked for at once.
func TestManyAtOnce(t *testing.T) {
	const many = 2501
	needDescriptors(t, 2*many+100) // both ends are this process's
	p := serve(t, answers(hello))
	conns := make([]*Conn, many)
	errs := make([]error, many)
	var all sync.WaitGroup
	for i := range conns {
		all.Go(func() { conns[i], errs[i] = p.Get(t.Context()) })
	}
	all.Wait()
	distinct := map[*Conn]bool{}
	for i, c := range conns {
		if errs[i] != nil {
			t.Fatal(errs[i])
		}
		distinct[c] = true
		defer c.Close()
	}
	if s := dialled(p); len(distinct) != many || s != (Stats{Dials: many}) {
		t.Errorf("%d connections, %+v", len(distinct), s)
	}
	for _, c := range conns {
		send(t, p, c)
	}
	for _, c := range conns {
		if _, text, err := readAll(c); text != "hello" || err != nil {
			t.Fatalf("%q, %v", text, err)
		}
	}
}
