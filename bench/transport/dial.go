package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"
)

// ErrConnectTimeout is in the error of a connection that took longer than
// Config.ConnectTimeout.
var ErrConnectTimeout = errors.New("timed out")

// Phase is the part of opening a connection that failed.
type Phase int

const (
	PhaseLookup  Phase = iota // finding the host's address
	PhaseConnect              // the TCP connection
	PhaseTLS                  // the TLS handshake with the target
	PhaseProxy                // whatever concerns the proxy
)

// DialError says what of opening a connection failed.
type DialError struct {
	Phase Phase
	// Address is what it was about, as host:port.
	Address string
	// Err is the cause. In PhaseProxy it may be a DialError of the proxy's own.
	Err error
}

func (e *DialError) Error() string {
	what := "connect to"
	switch e.Phase {
	case PhaseLookup:
		what = "look up"
	case PhaseTLS:
		what = "TLS handshake with"
	case PhaseProxy:
		what = "proxy"
	}
	return fmt.Sprintf("%s %s: %v", what, e.Address, e.Err)
}

func (e *DialError) Unwrap() error { return e.Err }

// dialling is the opening of one connection. ctx ends with ErrConnectTimeout as
// its cause once limit has passed.
type dialling struct {
	ctx   context.Context
	limit time.Duration
}

// failed returns the error of a phase.
func (d dialling) failed(phase Phase, address string, err error) error {
	var network net.Error
	if deadline, ok := d.ctx.Deadline(); ok && errors.As(err, &network) && network.Timeout() && !time.Now().Before(deadline) {
		<-d.ctx.Done() // the socket's timer was a moment faster than the context's
	}
	if errors.Is(context.Cause(d.ctx), ErrConnectTimeout) {
		err = fmt.Errorf("%w after %v", ErrConnectTimeout, d.limit)
	}
	return &DialError{Phase: phase, Address: address, Err: explainExhausted(err)}
}

// dial opens a connection.
func (p *Pool) dial(ctx context.Context) (*Conn, error) {
	c, err := p.open(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.stats.FailedDials++
	} else {
		p.stats.Dials++
	}
	return c, err
}

func (p *Pool) open(ctx context.Context) (*Conn, error) {
	if p.proxyErr != nil {
		return nil, p.proxyErr
	}
	d := dialling{ctx: ctx, limit: p.cfg.ConnectTimeout}
	if d.limit > 0 {
		var cancel context.CancelFunc
		d.ctx, cancel = context.WithTimeoutCause(ctx, d.limit, ErrConnectTimeout)
		defer cancel()
	}
	s, err := p.connect(d)
	if err != nil {
		return nil, err
	}
	stream, err := p.layers(d, s)
	if err != nil {
		_ = s.Close() // the error at hand says more
		return nil, err
	}
	return newConn(stream, s, p.cfg.Now), nil
}

// connect opens a socket to the target or its proxy.
func (p *Pool) connect(d dialling) (*socket, error) {
	if p.proxy == nil {
		return p.connectTo(d, p.cfg.Target.Address)
	}
	s, err := p.connectTo(d, p.proxy.address)
	if err != nil {
		return nil, &DialError{Phase: PhaseProxy, Address: p.proxy.address, Err: err}
	}
	return s, nil
}

func (p *Pool) connectTo(d dialling, address string) (*socket, error) {
	began := p.cfg.Now()
	raw, err := p.dialer.DialContext(d.ctx, "tcp", address)
	if err != nil {
		phase := PhaseConnect
		var lookup *net.DNSError
		if errors.As(err, &lookup) {
			phase = PhaseLookup
		}
		return nil, d.failed(phase, address, err)
	}
	var enable func(syscall.RawConn) error
	if p.cfg.Timestamps != TimestampsUser {
		enable = p.enableStamps
	}
	s, err := newSocket(raw, &p.stamps, began, enable)
	if err != nil && p.cfg.Timestamps == TimestampsKernel {
		_ = raw.Close() // the error at hand says more
		return nil, d.failed(PhaseConnect, address, stampError(err))
	}
	return s, nil
}

// layers puts onto a socket what the way to the target needs.
func (p *Pool) layers(d dialling, s *socket) (net.Conn, error) {
	var stream net.Conn = s
	if p.proxy != nil {
		var err error
		if stream, err = p.proxy.pass(d, stream, p.cfg.Target); err != nil {
			return nil, d.failed(PhaseProxy, p.proxy.address, err)
		}
	}
	if p.cfg.Target.TLS {
		secure := tls.Client(stream, p.cfg.TLS)
		if err := secure.HandshakeContext(d.ctx); err != nil {
			return nil, d.failed(PhaseTLS, p.cfg.Target.Address, err)
		}
		stream = secure
	}
	return stream, nil
}
