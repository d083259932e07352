//go:build unix

package main

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"text/tabwriter"
	"time"

	"github.com/shirou/gopsutil/v3/process"
	"golang.org/x/sys/unix"
)

// parked is the model of the streams that wait, and parkedTokens the length of
// the answer they wait for.
const (
	parked       = "sim-parked"
	parkedTokens = 128
)

// spareFiles are descriptors for everything but the waiting streams.
const spareFiles = 256

// runIdle measures the same load with and without streams that wait for their
// first token, response header in hand.
func runIdle(o options) error {
	// Go has raised the limit as far as it may; the other processes' is the same.
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		return err
	}
	if room := int(min(files.Cur, 1<<30)) - spareFiles - o.streams; o.idle > room {
		fmt.Printf("%d descriptors are allowed: %d waiting streams instead of %d.\n", files.Cur, room, o.idle)
		o.idle = room
	}
	if o.idle < 1 {
		return fmt.Errorf("too few descriptors are allowed")
	}
	for _, s := range o.schedules {
		if err := idle(o, load{s, o.streams, o.tokens}); err != nil {
			return err
		}
	}
	return nil
}

func idle(o options, l load) error {
	p := simulator(o.server, l.model)
	fmt.Printf("%s: %d streams, each a token every %v, %d tokens\n\n", l.name, l.streams, l.interval, l.tokens)
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "round\twaiting\tmemory each\t")
	for _, f := range figures {
		fmt.Fprintf(w, "%s\tratio\t", f.name)
	}
	fmt.Fprintln(w, "drift\treader\t")
	var alone, beside []measured
	var memory []float64
	for round := range o.rounds {
		for turn := range 2 {
			if (turn+round)%2 == 0 {
				m, err := measure(p, l)
				if err != nil {
					return err
				}
				alone = append(alone, m)
				continue
			}
			m, each, err := measureBeside(p, l, o.idle)
			if err != nil {
				return err
			}
			beside, memory = append(beside, m), append(memory, each)
		}
		row := fmt.Sprint(round + 1)
		printIdle(w, row, 0, nil, alone[round:], alone[round:])
		printIdle(w, row, o.idle, memory[round:], beside[round:], alone[round:])
	}
	printIdle(w, "median", 0, nil, alone, alone)
	printIdle(w, "median", o.idle, memory, beside, alone)
	fmt.Fprintln(w)
	return w.Flush()
}

// printIdle prints medians of runs beside n waiting streams.
func printIdle(w *tabwriter.Writer, round string, n int, memory []float64, runs, alone []measured) {
	fmt.Fprintf(w, "%s\t%d\t", round, n)
	if len(memory) > 0 {
		fmt.Fprintf(w, "%.1f KiB", median(memory)/1024)
	}
	fmt.Fprint(w, "\t")
	printFigures(w, runs, alone)
	fmt.Fprintln(w)
}

// measureBeside measures a load beside n waiting streams, and what each of them
// takes of the server's resident memory, in bytes.
func measureBeside(p program, l load, n int) (m measured, each float64, err error) {
	c, err := start(p)
	if err != nil {
		return m, 0, err
	}
	defer c.stop()
	before, err := c.resident()
	if err != nil {
		return m, 0, err
	}
	// In a process of their own: thousands of descriptors would burden the reader.
	self, err := os.Executable()
	if err != nil {
		return m, 0, err
	}
	waiting, err := start(program{
		name: "waiting streams", path: self, args: []string{"--park", c.address, "--idle", fmt.Sprint(n)},
	})
	if err != nil {
		return m, 0, err
	}
	defer waiting.stop()
	after, err := c.resident()
	if err != nil {
		return m, 0, err
	}
	m, err = c.measure(p, l)
	return m, (after - before) / float64(n), err
}

// runPark opens n streams and holds them until standard input ends.
func runPark(address string, n int) error {
	for range n {
		conn, err := park(address)
		if err != nil {
			return err
		}
		defer conn.Close()
	}
	fmt.Printf("listening on http://%s/\n", address) // what start waits for
	_, _ = os.Stdin.Read(make([]byte, 1))
	return nil
}

// park opens one stream and returns when it has its response header.
func park(address string) (net.Conn, error) {
	dialed, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	conn := dialed.(*net.TCPConn)
	// Closing resets the connection: thousands in TIME_WAIT would use up the ports.
	if err := conn.SetLinger(0); err != nil {
		return nil, err
	}
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		return nil, err
	}
	if _, err := conn.Write(request(parked, parkedTokens)); err != nil {
		return nil, err
	}
	answer, err := http.ReadResponse(bufio.NewReaderSize(conn, 512), nil)
	if err != nil {
		return nil, fmt.Errorf("a waiting stream: %w", err)
	}
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("a waiting stream: %s", answer.Status)
	}
	return conn, nil
}

// resident is the memory of the process that is in RAM, in bytes.
func (c *child) resident() (float64, error) {
	p, err := process.NewProcess(int32(c.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	memory, err := p.MemoryInfo()
	if err != nil {
		return 0, err
	}
	return float64(memory.RSS), nil
}
