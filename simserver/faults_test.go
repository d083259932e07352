package simserver_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"llmsim-bench/internal/wire"
	"llmsim-bench/simserver"
	"llmsim-bench/simserver/eventlog"
	"llmsim-bench/simserver/simtest"
)

// steadyStep is how long every step of the model steady takes, whatever is in it.
const steadyStep = 2 * time.Millisecond

// faultModels are two models with so many sequences at once and so many requests
// waiting. The timeline of a stream of steady is known beforehand; that of real
// depends on what is in its steps, so that a replay shows whether anything else
// moved it.
func faultModels(sequences, waiting int) map[string]string {
	scheduler := fmt.Sprintf("max_num_sequences: %d, max_waiting: %d", sequences, waiting)
	return map[string]string{
		"steady": `
    hardware: none
    weights: {parameters_billions: 0.000000001, bytes_per_parameter: 1}
    kv_cache: {bytes_per_token: 1, num_gpu_blocks_override: 100000}
    scheduler: {` + scheduler + `}
    latency: {step_overhead_ms: 2}
`, "real": `
    hardware: h100-sxm@1
    weights: {parameters_billions: 2, bytes_per_parameter: 2}
    kv_cache: {bytes_per_token: 524288, num_gpu_blocks_override: 100000}
    scheduler: {profile: vllm-0.23, ` + scheduler + `}
`,
	}
}

// modelName is in every event, and so long that a reader that stops is noticed
// after a few hundred.
var modelName = strings.Repeat("m", 16_000)

// endless is how many tokens a stream has that nobody reads to its end.
const endless = 30_000

// A victim is a stream beside a fault.
const victims = 4

// beside runs a fault beside victims, and expects that their timelines are those
// of a run without it. The fault must have been counted when it returns.
func beside(t *testing.T, models map[string]string, options simserver.Options, fault func(t *testing.T, l *liveRun, streams []*stream)) {
	t.Helper()
	for name, keys := range models {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := startLive(t, `
hardware:
  none: {hbm_gib: 80, memory_bandwidth_gbps: 1000000, peak_tflops: 1000000}
models:
  - name: `+modelName+`
    context_length: 32768
    tokenizer: regex
    engine: scheduler`+keys, options)
			var streams []*stream
			for range victims {
				s := startStream(t, l.Simulator, modelName, "one two three", endless)
				streams = append(streams, s)
				waitFor(t, "the victim streams", func() bool { return s.tokens.Load() > 0 })
			}
			fault(t, l, streams)
			for i, s := range streams {
				reached := s.tokens.Load()
				waitFor(t, "the victim goes on after the fault", func() bool { return s.tokens.Load() > reached })
				select {
				case got := <-s.result:
					t.Fatalf("victim %d ended before the fault was over: %+v", i, got)
				default:
				}
			}
			for _, s := range streams {
				s.conn.Close()
			}
			waitFor(t, "nothing runs", func() bool { return counts(t, l).Running == 0 })
			l.replay(t)
			checkGaps(t, l, name == "steady")
		})
	}
}

// counts returns the counts of the only model.
func counts(t *testing.T, l *liveRun) wire.Requests {
	t.Helper()
	return summary(t, l.Simulator, "").Models[modelName].Requests
}

// checkGaps looks at the log of a run that was stopped: steady streams have a token
// a step.
func checkGaps(t *testing.T, l *liveRun, steady bool) {
	t.Helper()
	log, err := os.Open(l.log)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	logs, err := eventlog.Read(log)
	if err != nil {
		t.Fatal(err)
	}
	streams := 0
	for id, end := range logs[0].Ends {
		if len(end.Due) > 1 {
			streams++
		}
		for i := 1; steady && i < len(end.Due); i++ {
			if gap := time.Duration(end.Due[i] - end.Due[i-1]); gap != steadyStep {
				t.Fatalf("request %d: token %d is due %v after the one before, want %v as without the fault", id, i, gap, steadyStep)
			}
		}
	}
	if streams < victims {
		t.Errorf("the log has %d streams, which is less than the victims", streams)
	}
}

// badReader asks for a stream that it won't read as it should, through as small a
// window as there is.
func badReader(t *testing.T, sim *simtest.Simulator) *net.TCPConn {
	t.Helper()
	c, _ := dial(t, sim)
	if err := c.SetReadBuffer(4096); err != nil {
		t.Error(err)
	}
	send(t, c, postChat(chatBody(modelName, endless, `,"stream":true`)))
	return c
}

func TestAReaderThatStopsChangesNoTimeline(t *testing.T) {
	beside(t, faultModels(64, 0), simserver.Options{MaxPendingBytes: 4 << 20}, func(t *testing.T, l *liveRun, _ []*stream) {
		badReader(t, l.Simulator)
		waitFor(t, "the reader that stopped is aborted", func() bool { return counts(t, l).Aborted["slow_reader"] == 1 })
	})
}

func TestAReaderOfAByteNowAndThenChangesNoTimeline(t *testing.T) {
	beside(t, faultModels(64, 0), simserver.Options{MaxPendingBytes: 1 << 30}, func(t *testing.T, l *liveRun, streams []*stream) {
		c := badReader(t, l.Simulator)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		// The kernel takes so many events at most before the rest waits.
		for from := streams[0].tokens.Load(); streams[0].tokens.Load() < from+600; <-tick.C {
			if _, err := c.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
		}
		c.Close()
		waitFor(t, "it is counted", func() bool {
			m := summary(t, l.Simulator, "").Models[modelName]
			return m.Requests.Aborted["client_closed"] == 1 && m.BackpressuredTokens > 0
		})
	})
}

func TestResetsInsideAStepChangeNoTimeline(t *testing.T) {
	beside(t, faultModels(64, 0), simserver.Options{}, func(t *testing.T, l *liveRun, _ []*stream) {
		const resets = 20
		for range resets {
			c, r := dial(t, l.Simulator)
			send(t, c, postChat(chatBody(modelName, endless, `,"stream":true`)))
			if resp, err := http.ReadResponse(r, nil); err != nil || !oneEvent(resp.Body) {
				t.Fatalf("no token before the reset: %v", err)
			}
			if err := c.SetLinger(0); err != nil { // closing resets
				t.Fatal(err)
			}
			c.Close()
		}
		waitFor(t, "all that were reset are counted", func() bool { return counts(t, l).Aborted["client_closed"] == resets })
	})
}

// oneEvent reads an event of a stream; the step after it is under way by then.
func oneEvent(body io.Reader) bool {
	line, err := bufio.NewReader(body).ReadString('\n')
	return err == nil && strings.HasPrefix(line, "data: ")
}

func TestAThousandConnectsAtOnceChangeNoTimeline(t *testing.T) {
	// Both ends are in this process, for two models beside each other.
	n := min(1000, (descriptors(t)-400)/4)
	if n < 100 {
		t.Skipf("%d descriptors are too few", descriptors(t))
	}
	beside(t, faultModels(64, 0), simserver.Options{}, func(t *testing.T, l *liveRun, _ []*stream) {
		connections := func() wire.Connections { return *summary(t, l.Simulator, "").Connections }
		before := connections()
		conns := make([]net.Conn, n)
		var dialing sync.WaitGroup
		for i := range conns {
			dialing.Go(func() {
				var err error
				if conns[i], err = net.Dial("tcp", l.Address); err != nil {
					t.Error(err)
				}
			})
		}
		dialing.Wait()
		waitFor(t, "all are accepted and open", func() bool {
			now := connections()
			return now.Accepted >= before.Accepted+int64(n) && now.Open >= int64(n)
		})
		for _, c := range conns {
			if c != nil {
				c.Close()
			}
		}
		waitFor(t, "all are closed", func() bool { return connections().Open < int64(n) })
	})
}

func TestAQueuePastItsBoundChangesNoTimeline(t *testing.T) {
	// The victims have all the places there are: so many more wait, and the rest is
	// refused.
	const waiting, asked = 3, 30
	beside(t, faultModels(victims, waiting), simserver.Options{}, func(t *testing.T, l *liveRun, _ []*stream) {
		var accepted []*stream
		refused := 0
		for range asked {
			s := startStream(t, l.Simulator, modelName, "one two three", 5)
			resp := <-s.status
			switch {
			case resp == nil:
				t.Fatal((<-s.result).err)
			case resp.StatusCode == http.StatusOK:
				accepted = append(accepted, s)
			case resp.StatusCode == http.StatusTooManyRequests:
				refused++
				if after, err := strconv.Atoi(resp.Header.Get("Retry-After")); err != nil || after < 1 {
					t.Errorf("Retry-After %q, want whole seconds from 1", resp.Header.Get("Retry-After"))
				}
			default:
				t.Errorf("%s", resp.Status)
			}
		}
		if len(accepted) != waiting || refused != asked-waiting {
			t.Errorf("%d were accepted and %d refused of %d, where %d may wait", len(accepted), refused, asked, waiting)
		}
		for _, s := range accepted {
			s.conn.Close()
		}
		waitFor(t, "those that waited have left", func() bool { return counts(t, l).Aborted["client_closed"] == waiting })
		n := counts(t, l)
		if n.Rejected["queue_full"] != asked-waiting || n.Received != victims+waiting || n.Running != victims {
			t.Errorf("%+v, want %d rejected and %d received", n, asked-waiting, victims+waiting)
		}
	})
}
