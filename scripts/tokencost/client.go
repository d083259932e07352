//go:build unix

package main

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"net"
	"slices"
	"sync"
	"time"

	"llmsim-bench/bench/health"
	"llmsim-bench/internal/hist"
	"llmsim-bench/internal/sleep"
)

// edge is how many tokens at either end of a stream show whether lag drifts.
const edge = 100

// frameEnd ends every frame: an empty event line, and the end of its chunk.
const frameEnd = "\n\n\r\n"

// request is one stream's request.
func request(model string, tokens int) []byte {
	body := fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":"Say something."}],"max_tokens":%d,"stream":true}`, model, tokens)
	return fmt.Appendf(nil, "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

// measured is what one run gave.
type measured struct {
	cpuPerToken time.Duration
	lag         hist.Stats // as the program measured it
	tokenRate   float64    // a second
	// seen is how late tokens were read, against the stream's schedule as its
	// earliest token shows it, and drift how much later the last edge tokens of a
	// stream are than its first (medians), in ms.
	seen   hist.Stats
	drift  float64
	client health.Verdict
}

// measure runs one process under the load.
func measure(p program, l load) (measured, error) {
	c, err := start(p)
	if err != nil {
		return measured{}, err
	}
	defer c.stop()
	m, err := c.measure(p, l)
	if err != nil {
		return measured{}, fmt.Errorf("%s: %w", p.name, err)
	}
	return m, nil
}

// measure puts the load on a program that runs.
func (c *child) measure(p program, l load) (m measured, err error) {
	before, err := c.cpu()
	if err != nil {
		return m, err
	}
	monitor := health.NewMonitor(sleep.NewClock())
	monitor.Start()
	received, err := readStreams(c.address, l, p.before)
	n := int64(l.streams)
	m.client = health.Evidence{Report: monitor.Stop(), Counts: health.Counts{Due: n, Dispatched: n}}.Judge()
	if err != nil {
		return m, err
	}
	after, err := c.cpu()
	if err != nil {
		return m, err
	}
	m.cpuPerToken = (after - before) / time.Duration(l.streams*l.tokens)
	m.judge(received, l)
	m.lag, err = p.lag(c)
	return m, err
}

// judge works out what the reader saw from the times of receipt.
func (m *measured) judge(received [][]int64, l load) {
	var late, first, last []int64
	from, to := int64(math.MaxInt64), int64(0)
	for _, times := range received {
		from, to = min(from, times[0]), max(to, times[len(times)-1])
		start := int64(math.MaxInt64)
		for i, t := range times {
			start = min(start, t-int64(i)*int64(l.interval))
		}
		begin := len(late)
		for i, t := range times {
			late = append(late, t-int64(i)*int64(l.interval)-start)
		}
		first = append(first, late[begin:begin+edge]...)
		last = append(last, late[len(late)-edge:]...)
	}
	m.drift = (medianOf(last) - medianOf(first)) / 1e6
	m.seen = hist.StatsOf(late)
	m.tokenRate = float64(len(late)) / time.Duration(to-from).Seconds()
}

func medianOf(values []int64) float64 {
	slices.Sort(values)
	return float64(hist.Quantile(values, 0.5))
}

// readStreams opens all connections, asks for all streams and reads them to
// their ends. Streams on timelines of their own are asked for evenly spread over
// the time between two tokens, so that every program gets the same schedule. It
// returns when each token of each stream was received.
func readStreams(address string, l load, before int) ([][]int64, error) {
	conns := make([]net.Conn, l.streams)
	limit := time.Now().Add(time.Minute + 20*time.Duration(l.tokens)*l.interval)
	for i := range conns {
		c, err := net.Dial("tcp", address)
		if err != nil {
			return nil, err
		}
		defer c.Close()
		if err := c.SetDeadline(limit); err != nil {
			return nil, err
		}
		conns[i] = c
	}
	var readers sync.WaitGroup
	errs := make([]error, l.streams)
	received := make([][]int64, l.streams)
	ask := request(l.model, l.tokens)
	clock := sleep.NewClock()
	sleeper := sleep.New(clock)
	for i, c := range conns {
		if !l.together {
			sleeper.Until(int64(i) * int64(l.interval) / int64(l.streams))
		}
		if _, err := c.Write(ask); err != nil {
			return nil, err
		}
		readers.Go(func() { received[i], errs[i] = readStream(c, clock, l.tokens, before) })
	}
	readers.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return received, nil
}

// readStream reads to the end and returns when each token was received.
func readStream(c net.Conn, clock sleep.Clock, tokens, before int) ([]int64, error) {
	buf := make([]byte, 16<<10)
	times := make([]int64, 0, tokens+before)
	kept := 0 // of the read before: the start of a frameEnd
	for {
		n, err := c.Read(buf[kept:])
		now := clock.Now()
		text := buf[:kept+n]
		for range bytes.Count(text, []byte(frameEnd)) {
			if len(times) < cap(times) { // others follow the last token
				times = append(times, now)
			}
		}
		kept = copy(buf, text[max(0, len(text)-len(frameEnd)+1):])
		if err == io.EOF && len(times) == cap(times) {
			return times[before:], nil
		}
		if err != nil {
			return nil, fmt.Errorf("a stream was cut after %d tokens: %w", max(0, len(times)-before), err)
		}
	}
}

// tokenBytes returns what the server writes for one token.
func tokenBytes(server string, s schedule) ([]byte, error) {
	c, err := start(simulator(server, s.model))
	if err != nil {
		return nil, err
	}
	defer c.stop()
	conn, err := net.Dial("tcp", c.address)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if _, err := conn.Write(request(s.model, 4)); err != nil {
		return nil, err
	}
	all, err := io.ReadAll(conn)
	if err != nil {
		return nil, err
	}
	// Frames: head and role, tokens 1…4, finish, [DONE].
	frames := bytes.SplitAfter(all, []byte(frameEnd))
	if len(frames) < 5 {
		return nil, fmt.Errorf("the answer has %d frames, expected at least 5:\n%s", len(frames), all)
	}
	return frames[2], nil
}
