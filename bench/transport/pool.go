package transport

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"sync"
	"time"
)

// tailGrace is how long an idle connection may wait for the end of a body whose
// caller needed no more of it, before it is given up.
const tailGrace = time.Second

// Config sets up a Pool.
type Config struct {
	Target Target
	// Now is the clock of every instant: nanoseconds, monotonic.
	Now func() int64
	// ConnectTimeout bounds dialling, name look-up and TLS handshake together;
	// 0 leaves it to the caller's context and the system.
	ConnectTimeout time.Duration
	// TLS is used for https; nil verifies the server against the system's roots.
	TLS *tls.Config
}

// Stats counts what a Pool did.
type Stats struct {
	Dials  int64 // connections opened
	Reuses int64 // requests given a connection that had served one before
	Stale  int64 // idle connections found closed, or unusable, and thrown away
}

// Pool hands out connections to one target. It is safe for concurrent use.
type Pool struct {
	cfg    Config
	dialer net.Dialer

	mu     sync.Mutex
	idle   []*Conn // the last used is at the end
	closed bool
	stats  Stats
}

// New returns an empty Pool.
func New(cfg Config) *Pool {
	if cfg.Target.TLS {
		if cfg.TLS == nil {
			cfg.TLS = &tls.Config{}
		}
		cfg.TLS = cfg.TLS.Clone()
		cfg.TLS.NextProtos = []string{"http/1.1"}
		if cfg.TLS.ServerName == "" {
			// The address always splits: ParseTarget joined it, or dialling fails.
			cfg.TLS.ServerName, _, _ = net.SplitHostPort(cfg.Target.Address)
		}
	}
	return &Pool{cfg: cfg}
}

// Target returns where the pool's connections lead.
func (p *Pool) Target() Target { return p.cfg.Target }

// Stats returns the counts so far.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stats
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
			waiting = append(waiting, c)
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

func (p *Pool) dial(ctx context.Context) (*Conn, error) {
	p.mu.Lock()
	p.stats.Dials++
	p.mu.Unlock()
	if p.cfg.ConnectTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, p.cfg.ConnectTimeout)
		defer cancel()
	}
	raw, err := p.dialer.DialContext(ctx, "tcp", p.cfg.Target.Address)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", p.cfg.Target.Address, err)
	}
	stream := raw
	if p.cfg.Target.TLS {
		secure := tls.Client(raw, p.cfg.TLS)
		if err := secure.HandshakeContext(ctx); err != nil {
			_ = raw.Close() // the handshake's error says more
			return nil, fmt.Errorf("TLS handshake with %s: %w", p.cfg.Target.Address, err)
		}
		stream = secure
	}
	return newConn(stream, raw, p.cfg.Now), nil
}
