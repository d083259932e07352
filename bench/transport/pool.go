package transport

import (
	"context"
	"crypto/tls"
	"net"
	"net/url"
	"sync"
	"syscall"
	"time"
)

// tailGrace is how long an idle connection may wait for the end of a body whose
// caller needed no more of it, before it is given up.
const tailGrace = time.Second

// maxWaiting is how many such connections are tried for one request.
const maxWaiting = 8

// Config sets up a Pool.
type Config struct {
	Target Target
	// Now is the clock of every instant: nanoseconds, monotonic.
	Now func() int64
	// ConnectTimeout bounds name look-up, connecting, the proxy's part and TLS
	// handshakes together; 0 leaves it to the caller's context and the system.
	ConnectTimeout time.Duration
	// TLS is used for https, the target's and the proxy's; nil verifies the server
	// against the system's roots. Its ServerName is the target's alone.
	TLS *tls.Config
	// Proxy is an HTTP proxy's URL, as ParseProxy reads it; a bad one fails each
	// dial. nil is no proxy, whatever the environment's variables say.
	Proxy *url.URL
	// Timestamps says whose word it is when bytes came. Where the kernel can't
	// give its own, TimestampsKernel fails each dial.
	Timestamps Timestamps
}

// Stats counts what a Pool did.
type Stats struct {
	Dials       int64 // connections opened
	FailedDials int64 // attempts to open one that failed
	Reuses      int64 // requests given a connection that had served one before
	Stale       int64 // idle connections found closed, or unusable, and thrown away
	// Reads that brought something of an answer, by whose word Received.At is: the
	// kernel's, or our own.
	KernelStamps, UserStamps int64
	// ClockSteps counts how often the time of day was found to have been set, which
	// leaves the kernel's stamps of that moment out of account.
	ClockSteps int64
}

// Pool hands out connections to one target. It is safe for concurrent use.
type Pool struct {
	cfg      Config
	dialer   net.Dialer
	proxy    *proxy // nil if there is none
	proxyErr error  // what is wrong with Config.Proxy
	stamps   stamps
	// enableStamps makes the kernel stamp what a socket receives.
	enableStamps func(syscall.RawConn) error

	mu     sync.Mutex
	idle   []*Conn // the last used is at the end
	closed bool
	stats  Stats
}

// New returns an empty Pool.
func New(cfg Config) *Pool {
	p := &Pool{cfg: cfg, enableStamps: enableStamps}
	p.stamps.now, p.stamps.wall = cfg.Now, wallClock
	if cfg.Proxy != nil {
		p.proxy, p.proxyErr = newProxy(cfg.Proxy, cfg.TLS)
	}
	if cfg.Target.TLS {
		// The address always splits: ParseTarget joined it, or dialling fails.
		host, _, _ := net.SplitHostPort(cfg.Target.Address)
		p.cfg.TLS = clientTLS(cfg.TLS, withoutZone(host))
	}
	return p
}

// Target returns where the pool's connections lead.
func (p *Pool) Target() Target { return p.cfg.Target }

// Stats returns the counts so far.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	stats := p.stats
	p.stamps.addTo(&stats)
	return stats
}

// AppendRequest appends a whole request to dst, ready for Conn.Send on a
// connection of this pool: Target.AppendRequest, in the form a proxy wants where
// there is one.
func (p *Pool) AppendRequest(dst []byte, method, path string, headers []Header, body []byte) []byte {
	t := p.cfg.Target
	if p.proxy == nil || t.TLS { // through a tunnel the target is spoken to as ever
		return t.AppendRequest(dst, method, path, headers, body)
	}
	return t.appendRequest(dst, method, "http://"+t.Host+path, p.proxy.auth, headers, body)
}

// Get returns the idle connection used last that is still good, or dials. The
// connection serves ctx until Put or Close: once ctx is done, whatever blocks on
// the connection fails at once with ctx's cause.
func (p *Pool) Get(ctx context.Context) (*Conn, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	c := p.takeIdle()
	if c == nil {
		var err error
		if c, err = p.dial(ctx); err != nil {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			return nil, err
		}
	}
	c.bind(ctx)
	return c, nil
}

// takeIdle returns an idle connection that is good for another request, or nil.
func (p *Pool) takeIdle() *Conn {
	var waiting []*Conn // the end of their last body is still to come
	defer func() {
		if len(waiting) > 0 {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.keep(waiting...)
		}
	}()
	for {
		p.mu.Lock()
		n := len(p.idle)
		if n == 0 {
			p.mu.Unlock()
			return nil
		}
		c := p.idle[n-1]
		p.idle = p.idle[:n-1]
		p.mu.Unlock()

		state := c.readiness()
		if state == waitingTail && p.cfg.Now()-c.idleSince < int64(tailGrace) {
			if waiting = append(waiting, c); len(waiting) == maxWaiting {
				return nil // a server that never ends its bodies would have all of them tried, every time
			}
			continue
		}
		p.mu.Lock()
		if state == ready {
			p.stats.Reuses++
			p.mu.Unlock()
			return c
		}
		p.stats.Stale++
		p.mu.Unlock()
		c.Close()
	}
}

// Put gives a connection back. What is left of its body need not have been read:
// the connection is reused if the rest turns out to be short and there in time.
// One that cannot be reused is closed.
func (p *Pool) Put(c *Conn) {
	if !c.unbind() || !c.reusable() {
		c.Close()
		return
	}
	c.idleSince = p.cfg.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keep(c)
}

// keep makes connections idle, or closes them if the pool is closed. The caller
// holds mu.
func (p *Pool) keep(conns ...*Conn) {
	if !p.closed {
		p.idle = append(p.idle, conns...)
		return
	}
	for _, c := range conns {
		c.Close()
	}
}

// Close closes the idle connections; those in use close when they are put back.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, c := range p.idle {
		c.Close()
	}
	p.idle = nil
}
