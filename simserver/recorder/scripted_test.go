package recorder

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"llmsim-bench/simserver/recording"
)

const (
	secret   = "sk-Very+Secret/0123456789"
	question = `{"model":"org/model:1","api_key":"` + "body-key-1" + `","messages":[{"role":"user","content":"hi"}],"stream":true}`
)

// recorded is a recorder in front of a scripted server.
type recorded struct {
	*Recorder
	dir    string
	failed chan error
}

// start starts one. Change, if not nil, changes its options.
func start(t *testing.T, upstream http.HandlerFunc, change func(*Options)) *recorded {
	t.Helper()
	server := httptest.NewServer(upstream)
	t.Cleanup(server.Close)
	r := &recorded{dir: filepath.Join(t.TempDir(), "new", "records"), failed: make(chan error, 8)}
	options := Options{Upstream: server.URL + "/api/v1", Dir: r.dir, Failed: func(err error) { r.failed <- err }}
	if change != nil {
		change(&options)
	}
	var err error
	if r.Recorder, err = Listen("127.0.0.1:0", options); err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- r.Serve() }()
	t.Cleanup(func() {
		r.stop(t)
		if err := <-served; !errors.Is(err, ErrClosed) {
			t.Errorf("serve ended with %v", err)
		}
	})
	return r
}

// stop cuts what runs, and returns when every file is written.
func (r *recorded) stop(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := r.Shutdown(ctx); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("shutdown: %v", err)
	}
}

// ask posts a body as a client with a key.
func (r *recorded) ask(t *testing.T, ctx context.Context, path, body string) (*http.Response, error) {
	t.Helper()
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, r.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer "+secret)
	q.Header.Set("Cookie", "session=cookie-0123456789")
	q.Header.Set("Openai-Organization", "org-0123456789")
	q.Header.Set("X-AuthToken", "glued-token-1")
	q.Header.Set("Connection", "X-Hop")
	q.Header.Set("X-Hop", "dropped")
	return http.DefaultClient.Do(q)
}

// exchanges stops the recorder and reads its files, in which there must be no key.
func (r *recorded) exchanges(t *testing.T) (all []*recording.Exchange) {
	t.Helper()
	r.stop(t)
	files, err := os.ReadDir(r.dir)
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile(`^\d{8}T\d{6}\.\d{3}Z-[0-9a-f]{8}-org_model_1\.json$`)
	for _, f := range files {
		if !name.MatchString(f.Name()) {
			t.Errorf("a file is called %s", f.Name())
		}
		path := filepath.Join(r.dir, f.Name())
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{secret, "body-key-1", "query-key-1", "cookie-0123456789", "org-0123456789", "set-cookie-1", "glued-token-1", "X-Hop"} {
			if bytes.Contains(data, []byte(key)) {
				t.Errorf("%s has %s:\n%s", f.Name(), key, data)
			}
		}
		e, err := recording.Read(path)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	select {
	case err := <-r.failed:
		t.Error(err)
	default:
	}
	return all
}

// only is exchanges where there must be one, which is complete if reason is empty.
func (r *recorded) only(t *testing.T, reason string) *recording.Exchange {
	t.Helper()
	all := r.exchanges(t)
	if len(all) != 1 {
		t.Fatalf("%d files, want 1", len(all))
	}
	e := all[0]
	if e.End.Complete != (reason == "") || !strings.Contains(e.End.Reason, reason) {
		t.Errorf("it ended %+v, want %q", e.End, reason)
	}
	return e
}

func said(e *recording.Exchange) string {
	var b strings.Builder
	if e.Response != nil {
		for _, s := range e.Response.Segments {
			b.Write(s.Data)
		}
	}
	return b.String()
}

func chunk(text string) string {
	return fmt.Sprintf(`data: {"choices":[{"index":0,"delta":{"content":%q},"finish_reason":null}]}`+"\n\n", text)
}

const ending = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"

func startStream(w http.ResponseWriter) func(string) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Set-Cookie", "set-cookie-1")
	flush := http.NewResponseController(w)
	return func(s string) {
		_, _ = io.WriteString(w, s)
		_ = flush.Flush()
	}
}
