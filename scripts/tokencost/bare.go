//go:build unix

package main

import (
	"bufio"
	"cmp"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"

	"golang.org/x/sys/unix"

	"llmsim-bench/internal/hist"
	"llmsim-bench/internal/sleep"
)

// bareLoop is this program as the floor of a load.
func bareLoop(l load, event []byte) (program, error) {
	self, err := os.Executable()
	if err != nil {
		return program{}, err
	}
	return program{
		name: "bare loop", path: self,
		args: []string{
			"--bare", hex.EncodeToString(event), "--engine", l.name,
			"--streams", fmt.Sprint(l.streams), "--tokens", fmt.Sprint(l.tokens),
		},
		lag: func(c *child) (lag hist.Stats, err error) { return lag, json.NewDecoder(c.stdout).Decode(&lag) },
	}, nil
}

// runBare is the floor: it takes l.streams requests, then writes the same bytes
// for every token of every stream at its due time, from one thread, and nothing
// else. Due times are those of the model: from each request's own arrival, or
// from the first one's if the streams go together.
func runBare(l load, eventHex string) error {
	event, err := hex.DecodeString(eventHex)
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("listening on http://%s/\n", ln.Addr())
	clock := sleep.NewClock()
	streams := make([]stream, l.streams)
	for i := range streams {
		c, err := ln.Accept()
		if err != nil {
			return err
		}
		streams[i].conn = c.(*net.TCPConn)
	}
	arrived := make(chan error)
	for i := range streams {
		go func() { arrived <- streams[i].await(clock) }()
	}
	for range streams {
		if err := <-arrived; err != nil {
			return err
		}
	}
	// All streams have the same gaps, so the order of arrival is the order of
	// writing in every round.
	slices.SortFunc(streams, func(a, b stream) int { return cmp.Compare(a.arrival, b.arrival) })
	if l.together {
		for i := range streams {
			streams[i].arrival = streams[0].arrival
		}
	}
	lag, err := writeAll(streams, l, event, clock)
	if err != nil {
		return err
	}
	for _, s := range streams {
		if err := s.conn.Close(); err != nil {
			return err
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(lag); err != nil {
		return err
	}
	// Stay until the parent has read the CPU time: the end of stdin says so.
	_, _ = os.Stdin.Read(make([]byte, 1))
	return nil
}

// stream is one connection with the arrival of its request.
type stream struct {
	conn    *net.TCPConn
	arrival int64
}

// await reads the request.
func (s *stream) await(clock sleep.Clock) error {
	r, err := http.ReadRequest(bufio.NewReader(s.conn))
	if err != nil {
		return err
	}
	s.arrival = clock.Now()
	return r.Body.Close()
}

// writeAll writes every token of every stream in order of due time.
func writeAll(streams []stream, l load, event []byte, clock sleep.Clock) (hist.Stats, error) {
	runtime.LockOSThread()
	sleep.Tighten()
	writers := make([]func([]byte) error, len(streams))
	for i, s := range streams {
		var err error
		if writers[i], err = bareWriter(s.conn); err != nil {
			return hist.Stats{}, err
		}
	}
	sleeper := sleep.New(clock)
	lags := make([]int64, 0, len(streams)*l.tokens)
	for n := range l.tokens {
		for i := range streams {
			due := streams[i].arrival + int64(l.first) + int64(n)*int64(l.interval)
			if clock.Now() < due {
				sleeper.Until(due)
			}
			lags = append(lags, clock.Now()-due)
			if err := writers[i](event); err != nil {
				return hist.Stats{}, err
			}
		}
	}
	return hist.StatsOf(lags), nil
}

// bareWriter returns a function that writes with the least there is between it
// and the kernel.
func bareWriter(c *net.TCPConn) (func([]byte) error, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	var bytes []byte
	var n int
	var result error
	write := func(fd uintptr) bool {
		n, result = unix.Write(int(fd), bytes)
		return true
	}
	return func(p []byte) error {
		bytes = p
		if err := raw.Write(write); err != nil {
			return err
		}
		if result == nil && n < len(p) {
			return fmt.Errorf("the reader is too slow for this comparison")
		}
		return result
	}, nil
}
