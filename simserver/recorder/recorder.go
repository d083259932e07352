// Package recorder is a reverse proxy in front of an OpenAI-compatible server. It
// passes everything through as it comes and stores each chat completion as a
// recording.Exchange. It knows nothing of the simulator.
//
// The proxy is httputil.ReverseProxy on net/http, unlike the simulator's own
// server: what it adds to an answer's times is small beside a real server and a
// network, and it brings what a proxy must get right (hop-by-hop headers, trailers,
// HTTP/2 upstream, broken and half-closed connections).
package recorder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"llmsim-bench/simserver/recording"
)

// Options are a recorder's parameters. The zero value of a field stands for its
// default.
type Options struct {
	// Upstream is the base URL of an OpenAI-compatible server, as a client would
	// have it: usually ending in /v1. It has no credentials; those are the client's.
	Upstream string
	// Dir is where the files go. It is made if it is not there, for its owner alone.
	Dir string
	// MaxBodyBytes bounds a chat request's body; default 4 MiB.
	MaxBodyBytes int
	// MaxResponseBytes bounds how much of an answer is kept; default 32 MiB. A
	// longer one passes, but its file is not complete.
	MaxResponseBytes int
	// Silence is how long upstream may say nothing before the exchange is given up;
	// default 10 minutes.
	Silence time.Duration
	// Failed is told of a file that could not be written; nil: nobody is.
	Failed func(error)
}

func (o Options) withDefaults() Options {
	if o.MaxBodyBytes == 0 {
		o.MaxBodyBytes = 4 << 20
	}
	if o.MaxResponseBytes == 0 {
		o.MaxResponseBytes = 32 << 20
	}
	if o.Silence == 0 {
		o.Silence = 10 * time.Minute
	}
	if o.Failed == nil {
		o.Failed = func(error) {}
	}
	return o
}

// Where the proxy stands, and what it records.
const (
	base = "/v1"
	chat = base + "/chat/completions"
)

// Recorder is a recording proxy on one listener.
type Recorder struct {
	options  Options
	upstream *url.URL
	listener net.Listener
	server   *http.Server
	proxy    *httputil.ReverseProxy
	upward   *http.Transport

	mu       sync.Mutex
	stopping bool
	running  sync.WaitGroup // exchanges whose file is not written
}

// How long the parts of an exchange may take that do not depend on its length.
const (
	dialTimeout   = 15 * time.Second
	headerTimeout = 15 * time.Second // of a client's request
	idleTimeout   = 90 * time.Second // of a connection that is kept
)

// Listen opens the address (host:port; port 0 takes a free one). Nothing is
// answered before Serve.
func Listen(address string, options Options) (*Recorder, error) {
	upstream, err := parseUpstream(options.Upstream)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(options.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory for recordings: %w", err)
	}
	r := &Recorder{options: options.withDefaults(), upstream: upstream}
	r.upward = &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSHandshakeTimeout:   dialTimeout,
		ResponseHeaderTimeout: r.options.Silence,
		IdleConnTimeout:       idleTimeout,
		MaxIdleConnsPerHost:   256,
		ForceAttemptHTTP2:     true,
		DisableCompression:    true, // what comes is passed on as it is
	}
	r.proxy = &httputil.ReverseProxy{
		Rewrite: r.rewrite, Transport: r.upward, FlushInterval: -1,
		ModifyResponse: keepResponse, ErrorHandler: unreachable,
		ErrorLog: log.New(io.Discard, "", 0), // what breaks is in the files
	}
	if r.listener, err = net.Listen("tcp", address); err != nil {
		return nil, err
	}
	r.server = &http.Server{Handler: r, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout}
	return r, nil
}

func parseUpstream(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		// Its text has the URL, and so what should not be shown.
		return nil, errors.New("the upstream is not a URL, must be one as https://api.example.com/v1")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, fmt.Errorf("the upstream %q is not one to proxy to, must be a URL as https://api.example.com/v1", u.Redacted())
	case u.User != nil:
		return nil, errors.New("the upstream has a user or password, must have none: clients bring their own credentials")
	case u.Fragment != "":
		return nil, fmt.Errorf("the upstream has the fragment %q, must have none", u.Fragment)
	}
	return u, nil
}

// Address is the address that the recorder listens on.
func (r *Recorder) Address() string { return r.listener.Addr().String() }

// URL is the base URL for an OpenAI client.
func (r *Recorder) URL() string { return "http://" + r.Address() + base }

// ErrClosed is what Serve returns after Shutdown.
var ErrClosed = http.ErrServerClosed

// Serve proxies requests until Shutdown, and then returns ErrClosed.
func (r *Recorder) Serve() error { return r.server.Serve(r.listener) }

// Shutdown takes no new requests, lets those that run end until ctx is over, cuts
// the others, and waits until every file is written. It returns ctx's error if
// answers were cut short.
func (r *Recorder) Shutdown(ctx context.Context) error {
	err := r.server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, r.server.Close())
	}
	r.mu.Lock()
	r.stopping = true
	r.mu.Unlock()
	_ = r.listener.Close() // of a recorder that never served; else it is closed already
	r.running.Wait()
	r.upward.CloseIdleConnections()
	return err
}

// enter begins an exchange that Shutdown waits for; false: it waits no more.
func (r *Recorder) enter() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopping {
		return false
	}
	r.running.Add(1)
	return true
}

// ServeHTTP implements http.Handler.
func (r *Recorder) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	switch {
	case q.URL.Path != base && !strings.HasPrefix(q.URL.Path, base+"/") || escapes(q.URL.Path):
		answerError(w, http.StatusNotFound, "unknown_url", "unknown path "+q.URL.Path+", must be one below "+base)
	case q.URL.Path == chat && q.Method == http.MethodPost:
		r.record(w, q)
	default:
		r.proxy.ServeHTTP(w, q)
	}
}

// escapes says whether a path leads out of the one that it starts with.
func escapes(path string) bool {
	for part := range strings.SplitSeq(path, "/") {
		if part == ".." {
			return true
		}
	}
	return false
}

// rewrite points a request upstream.
func (r *Recorder) rewrite(q *httputil.ProxyRequest) {
	q.Out.URL.Path = strings.TrimPrefix(q.Out.URL.Path, base)
	q.Out.URL.RawPath = strings.TrimPrefix(q.Out.URL.RawPath, base)
	q.SetURL(r.upstream)
	if x := exchangeOf(q.Out.Context()); x != nil {
		// A compressed answer can neither be read nor searched for keys.
		q.Out.Header.Set("Accept-Encoding", "identity")
		x.sent(q.Out)
	}
}

// unreachable answers for an upstream that did not.
func unreachable(w http.ResponseWriter, q *http.Request, err error) {
	if x := exchangeOf(q.Context()); x != nil {
		x.cause = err
	}
	answerError(w, http.StatusBadGateway, "upstream_failed", "the recorded server did not answer: "+err.Error())
}

// fileName is the name of an exchange's file: time, id and model.
func (r *Recorder) fileName(e *recording.Exchange) string {
	name := e.Started.UTC().Format("20060102T150405.000Z") + "-" + e.ID
	var asked struct {
		Model string `json:"model"`
	}
	if json.Unmarshal(e.Request.Body, &asked) == nil && asked.Model != "" {
		name += "-" + plainName(asked.Model)
	}
	return filepath.Join(r.options.Dir, name+".json")
}

// maxPlainName bounds what of a model's name is in a file's, in bytes.
const maxPlainName = 64

// plainName is a model's name with nothing that a file's name must not have.
func plainName(model string) string {
	if len(model) > maxPlainName {
		model = model[:maxPlainName]
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '_'
	}, model)
}
