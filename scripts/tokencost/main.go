//go:build unix

// Command tokencost compares what a token costs the simulator with what it
// costs a bare loop that writes the same bytes to as many sockets on the same
// schedule. Each runs in a process of its own, in turn, and this process reads
// the streams of both. It prints CPU per token, lag, and the ratios of each
// pair of runs.
//
//	go run ./scripts/tokencost --server ./llmsim-bench
package main

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/shirou/gopsutil/v3/process"

	"llmsim-bench/internal/hist"
	"llmsim-bench/internal/sleep"
	"llmsim-bench/internal/wire"
)

// load is one run's shape.
type load struct {
	streams, tokens int
}

const (
	model  = "sim-fixed"
	prompt = "Say something."
	// ttft and itl are what sim-fixed gives the prompt: 2 ms + 3 tokens at
	// 100,000 a second, and 4 ms a token.
	ttft = 2*time.Millisecond + 30*time.Microsecond
	itl  = 4 * time.Millisecond
)

// measured is what one run gave.
type measured struct {
	cpuPerToken time.Duration
	lag         hist.Stats
}

func main() {
	server := flag.String("server", "./llmsim-bench", "the program to measure")
	streams := flag.Int("streams", 64, "streams at once")
	tokens := flag.Int("tokens", 1500, "tokens a stream")
	rounds := flag.Int("rounds", 3, "pairs of runs")
	bare := flag.String("bare", "", "internal: be the bare loop and write these bytes (hex) for each token")
	flag.Parse()
	l := load{*streams, *tokens}
	var err error
	if *bare != "" {
		err = runBare(l, *bare)
	} else {
		err = compare(*server, l, *rounds)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "tokencost:", err)
		os.Exit(1)
	}
}

func compare(server string, l load, rounds int) error {
	event, err := tokenBytes(server)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	bareArgs := []string{
		"--bare", hex.EncodeToString(event), "--streams", fmt.Sprint(l.streams), "--tokens", fmt.Sprint(l.tokens),
	}
	fmt.Printf("%d streams of %d tokens, %d bytes a token, %d pairs of runs\n\n", l.streams, l.tokens, len(event), rounds)
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "CPU/token\tbare\tratio\tlag p50\tbare\tratio\tlag p99\tbare\tratio\t")
	var ratios [3][]float64
	for range rounds {
		sim, err := measureServer(server, l)
		if err != nil {
			return err
		}
		floor, err := measure(self, bareArgs, l, func(_ string, out *bufio.Reader) (lag hist.Stats, err error) {
			return lag, json.NewDecoder(out).Decode(&lag)
		})
		if err != nil {
			return err
		}
		row := [3][2]float64{
			{float64(sim.cpuPerToken) / 1e3, float64(floor.cpuPerToken) / 1e3},
			{sim.lag.P50, floor.lag.P50},
			{sim.lag.P99, floor.lag.P99},
		}
		units := [3]string{"µs", "ms", "ms"}
		for i, pair := range row {
			ratio := pair[0] / pair[1]
			ratios[i] = append(ratios[i], ratio)
			fmt.Fprintf(w, "%.2f %s\t%.2f %s\t%.2f\t", pair[0], units[i], pair[1], units[i], ratio)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "median\t\t%.2f\t\t\t%.2f\t\t\t%.2f\t\n", median(ratios[0]), median(ratios[1]), median(ratios[2]))
	return w.Flush()
}

func median(values []float64) float64 {
	s := slices.Sorted(slices.Values(values))
	n := len(s)
	return (s[(n-1)/2] + s[n/2]) / 2
}

func measureServer(server string, l load) (measured, error) {
	args := []string{"serve", "--listen", "127.0.0.1:0", "--until-stdin-closes"}
	return measure(server, args, l, func(address string, _ *bufio.Reader) (hist.Stats, error) {
		answer, err := http.Get("http://" + address + "/metrics/summary")
		if err != nil {
			return hist.Stats{}, err
		}
		defer answer.Body.Close()
		var s wire.Summary
		if err := json.NewDecoder(answer.Body).Decode(&s); err != nil {
			return hist.Stats{}, err
		}
		lag := s.Models[model].Metrics["lag"].Server
		if lag == nil {
			return hist.Stats{}, fmt.Errorf("the server measured no lag")
		}
		return *lag, nil
	})
}

// measure runs one process under the load. readLag is asked for the lag of the
// run after the last stream has ended.
func measure(program string, args []string, l load, readLag func(address string, out *bufio.Reader) (hist.Stats, error)) (measured, error) {
	child, address, out, err := start(program, args)
	if err != nil {
		return measured{}, err
	}
	defer child.stop()
	before, err := child.cpu()
	if err != nil {
		return measured{}, err
	}
	if err := readStreams(address, l); err != nil {
		return measured{}, err
	}
	after, err := child.cpu()
	if err != nil {
		return measured{}, err
	}
	lag, err := readLag(address, out)
	if err != nil {
		return measured{}, fmt.Errorf("%s: %w", program, err)
	}
	return measured{(after - before) / time.Duration(l.streams*l.tokens), lag}, nil
}

// child is a process that ends when its standard input does.
type child struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
}

// start runs a program that prints "listening on http://ADDRESS/…" first.
func start(program string, args []string) (*child, string, *bufio.Reader, error) {
	cmd := exec.Command(program, args...)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, "", nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, "", nil, err
	}
	c := &child{cmd, stdin}
	out := bufio.NewReader(stdout)
	line, err := out.ReadString('\n')
	if err != nil {
		c.stop()
		return nil, "", nil, fmt.Errorf("%s ended before it listened: %w", program, err)
	}
	_, rest, _ := strings.Cut(line, "http://")
	address, _, _ := strings.Cut(strings.TrimSpace(rest), "/")
	return c, address, out, nil
}

func (c *child) cpu() (time.Duration, error) {
	p, err := process.NewProcess(int32(c.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	t, err := p.Times()
	if err != nil {
		return 0, err
	}
	return time.Duration((t.User + t.System) * float64(time.Second)), nil
}

func (c *child) stop() {
	_ = c.stdin.Close()
	_ = c.cmd.Wait() // how it ends does not matter any more
}

// request is one stream's request.
func request(tokens int) string {
	body := fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":%q}],"max_tokens":%d,"stream":true}`, model, prompt, tokens)
	return fmt.Sprintf("POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

// readStreams opens all connections, then asks for all streams, spread evenly
// over the time between two tokens so that both programs get the same schedule,
// and reads them to their ends.
func readStreams(address string, l load) error {
	conns := make([]net.Conn, l.streams)
	for i := range conns {
		c, err := net.Dial("tcp", address)
		if err != nil {
			return err
		}
		defer c.Close()
		conns[i] = c
	}
	var readers sync.WaitGroup
	errs := make([]error, l.streams)
	ask := []byte(request(l.tokens))
	clock := sleep.NewClock()
	sleeper := sleep.New(clock)
	for i, c := range conns {
		sleeper.Until(int64(i) * int64(itl) / int64(l.streams))
		if _, err := c.Write(ask); err != nil {
			return err
		}
		readers.Go(func() {
			buf := make([]byte, 16<<10)
			for errs[i] == nil {
				_, errs[i] = c.Read(buf)
			}
		})
	}
	readers.Wait()
	for _, err := range errs {
		if err != io.EOF {
			return fmt.Errorf("a stream was cut: %w", err)
		}
	}
	return nil
}

// tokenBytes returns what the server writes for one token.
func tokenBytes(server string) ([]byte, error) {
	c, address, _, err := start(server, []string{"serve", "--listen", "127.0.0.1:0", "--until-stdin-closes"})
	if err != nil {
		return nil, err
	}
	defer c.stop()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, request(4)); err != nil {
		return nil, err
	}
	all, err := io.ReadAll(conn)
	if err != nil {
		return nil, err
	}
	// Frames: head, then role, tokens 1…4, finish, [DONE], each ended by an
	// empty event line and the end of its chunk.
	frames := strings.SplitAfter(string(all), "\n\n\r\n")
	if len(frames) < 5 {
		return nil, fmt.Errorf("the answer has %d frames, expected at least 5:\n%s", len(frames), all)
	}
	return []byte(frames[2]), nil
}
