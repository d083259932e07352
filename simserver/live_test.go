package simserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"llmsim-bench/experiments/simulate"
	"llmsim-bench/internal/wire"
	"llmsim-bench/simserver"
	"llmsim-bench/simserver/config"
	"llmsim-bench/simserver/simtest"
)

// liveRun is a simulator that keeps an event log.
type liveRun struct {
	*simtest.Simulator
	models *config.Config
	server *simserver.Server
	served chan error
	log    string
}

func startLive(t *testing.T, yaml string, options simserver.Options) *liveRun {
	t.Helper()
	models, err := config.Parse("models.yml", []byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	l := &liveRun{models: models, served: make(chan error, 1), log: filepath.Join(t.TempDir(), "events.jsonl")}
	options.EventLog = l.log
	if l.server, err = simserver.Listen("127.0.0.1:0", models, options); err != nil {
		t.Fatal(err)
	}
	l.Simulator = &simtest.Simulator{URL: l.server.URL(), Address: l.server.Address()}
	go func() { l.served <- l.server.Serve() }()
	t.Cleanup(func() { l.stop(t) })
	return l
}

// stop cuts what still runs.
func (l *liveRun) stop(t *testing.T) {
	t.Helper()
	if l.server == nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := l.server.Shutdown(ctx); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := <-l.served; !errors.Is(err, simserver.ErrClosed) {
		t.Error(err)
	}
	l.server = nil
}

// replay stops the run and repeats it in virtual time. Every request's times must
// be the same.
func (l *liveRun) replay(t *testing.T) []simulate.Replayed {
	t.Helper()
	l.stop(t)
	log, err := os.Open(l.log)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	all, err := simulate.Replay(log, l.models)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		if r.Differences > 0 {
			t.Errorf("replica %d: %d of %d requests differ in virtual time: %s", r.Replica, r.Differences, r.Requests, r.Examples)
		}
	}
	return all
}

// stream is a streamed request in the hands of a goroutine that reads it.
type stream struct {
	conn   net.Conn
	status chan *http.Response // once its head is there
	tokens atomic.Int64        // so far
	result chan streamed
}

type streamed struct {
	tokens int64
	timing *wire.Timing
	err    error
}

// startStream asks for a stream of so many tokens, and reads it as it comes.
func startStream(t *testing.T, sim *simtest.Simulator, model, prompt string, tokens int) *stream {
	t.Helper()
	conn, r := dial(t, sim)
	body := fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":%q}],"max_tokens":%d,"stream":true,"stream_options":{"include_usage":true}}`,
		model, prompt, tokens)
	send(t, conn, postChat(body, wire.HeaderTiming+": 1"))
	s := &stream{conn: conn, status: make(chan *http.Response, 1), result: make(chan streamed, 1)}
	go s.read(r)
	return s
}

func (s *stream) read(r *bufio.Reader) {
	defer s.conn.Close()
	var got streamed
	defer func() {
		got.tokens = s.tokens.Load()
		s.result <- got
	}()
	resp, err := http.ReadResponse(r, nil)
	s.status <- resp
	if err != nil {
		got.err = err
		return
	}
	lines := bufio.NewReaderSize(resp.Body, 64<<10)
	for {
		line, err := lines.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			got.err = err
			return
		}
		data, ok := strings.CutPrefix(line, "data: {")
		if !ok {
			continue
		}
		if strings.Contains(data, `"delta":{"content":`) {
			s.tokens.Add(1)
		}
		if strings.Contains(data, wire.TimingKey) {
			var event struct {
				Timing *wire.Timing `json:"llmsim_timing"`
			}
			got.err = json.Unmarshal([]byte("{"+data), &event)
			got.timing = event.Timing
		}
	}
}

// end waits for the whole stream, which must have all its tokens.
func (s *stream) end(t *testing.T, tokens int64) streamed {
	t.Helper()
	got := <-s.result
	if got.err != nil || got.tokens != tokens {
		t.Fatalf("%d tokens of %d, %v", got.tokens, tokens, got.err)
	}
	return got
}
