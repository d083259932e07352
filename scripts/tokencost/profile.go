//go:build linux

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A part of the CPU time of a token; a sample belongs to the first that has a
// function of its stack.
type part struct {
	name      string
	functions *regexp.Regexp
}

// threads tell the server's threads apart, functions what they do.
var (
	threads = []part{
		{"the thread that releases tokens", regexp.MustCompile(`engine\.\(\*(pacer|Batched)\)\.run$`)},
		{"Go's system monitor", regexp.MustCompile(`^runtime\.sysmon$`)},
		{"all others", regexp.MustCompile(``)},
	}
	functions = []part{
		{"write to the socket: the kernel, up to waking the reader", regexp.MustCompile(`^(__x64_sys_write|__arm64_sys_write|ksys_write)$`)},
		{"switching to the reader that a write woke on the same core", regexp.MustCompile(`^exit_to_user_mode_loop$`)},
		{"write to the socket: Go, and into the kernel and back", regexp.MustCompile(`api\.\(\*answer\)\.Release|engine\.\(\*Request\)\.release`)},
		{"sleep until the next due time", regexp.MustCompile(`sleep\.\(\*Precise\)\.Until`)},
		{"rendering", regexp.MustCompile(`api\.\(\*answer\)\.Prepare`)},
		{"scheduler, cost model, account of the steps", regexp.MustCompile(`simserver/sched\.|engine\.\(\*Loop\)|engine\.\(\*StepAccount\)`)},
		{"the rest of the engine", regexp.MustCompile(`engine\.\(\*(pacer|Batched)\)`)},
		{"Go's garbage collector", regexp.MustCompile(`^runtime\.(gcBgMarkWorker|bgsweep|bgscavenge|gcStart)`)},
		{"Go's system monitor", regexp.MustCompile(`^runtime\.sysmon$`)},
		{"Go's scheduler and poller", regexp.MustCompile(`^runtime\.(mcall|mstart|schedule|findRunnable|park_m)`)},
		{"requests and all else", regexp.MustCompile(``)},
	}
)

// runProfile shows where the server's CPU time goes under each load: by thread,
// as the kernel counts it; then the same load again under perf, by function.
// perf sees the kernel's part too, but it slows the server down and misses some
// of it, so its sum stands beside what the kernel has counted.
func runProfile(o options) error {
	for _, s := range o.schedules {
		if err := profile(o, load{s, o.streams, o.tokens}); err != nil {
			return err
		}
	}
	return nil
}

func profile(o options, l load) error {
	p := simulator(o.server, l.model)
	c, err := start(p)
	if err != nil {
		return err
	}
	defer c.stop()
	byThread, plain, err := c.measureThreads(p, l)
	if err != nil {
		return err
	}

	file := filepath.Join(filepath.Dir(modelsFile), "perf.data")
	perf := exec.Command("perf", "record", "-q", "-e", "cpu-clock", "-F", "997", "-g", "-o", file, "-p", strconv.Itoa(c.cmd.Process.Pid))
	var said strings.Builder
	perf.Stderr = &said
	if err := perf.Start(); err != nil {
		return err
	}
	_, slowed, err := c.measureThreads(p, l)
	c.stop() // perf ends with it
	if ended := perf.Wait(); err == nil && ended != nil {
		err = fmt.Errorf("perf record: %w\n%s", ended, said.String())
	}
	if err != nil {
		return err
	}
	samples, err := readSamples(file)
	if err != nil {
		return err
	}

	perToken := func(t time.Duration) float64 { return t.Seconds() * 1e6 / float64(l.streams*l.tokens) }
	show := func(parts []part, times []time.Duration) {
		var sum time.Duration
		for _, t := range times {
			sum += t
		}
		for i, part := range parts {
			fmt.Printf("%6.2f µs  %5.1f %%  %s\n", perToken(times[i]), 100*times[i].Seconds()/sum.Seconds(), part.name)
		}
		fmt.Println()
	}

	fmt.Printf("%s: %d streams of %d tokens: %.2f µs of CPU a token\n\n", l.name, l.streams, l.tokens, perToken(plain))
	roles := make(map[int]int) // by thread: the first of threads that it has a sample of
	for _, s := range samples {
		i := s.part(threads)
		if role, known := roles[s.thread]; !known || i < role {
			roles[s.thread] = i
		}
	}
	times := make([]time.Duration, len(threads))
	for id, t := range byThread {
		role, known := roles[id]
		if !known {
			role = len(threads) - 1
		}
		times[role] += t
	}
	show(threads, times)

	times = make([]time.Duration, len(functions))
	var sampled time.Duration
	for _, s := range samples {
		times[s.part(functions)] += s.period
		sampled += s.period
	}
	fmt.Printf("The same under perf: %.2f µs a token, of which the samples have %.0f %%\n\n", perToken(slowed), 100*sampled.Seconds()/slowed.Seconds())
	show(functions, times)
	return nil
}

// measureThreads is measure that returns the CPU time of each thread, by its id,
// and of the process.
func (c *child) measureThreads(p program, l load) (map[int]time.Duration, time.Duration, error) {
	before, err := c.threadTimes()
	if err != nil {
		return nil, 0, err
	}
	start, err := c.cpu()
	if err != nil {
		return nil, 0, err
	}
	if _, err := c.measure(p, l); err != nil {
		return nil, 0, err
	}
	end, err := c.cpu()
	if err != nil {
		return nil, 0, err
	}
	after, err := c.threadTimes()
	if err != nil {
		return nil, 0, err
	}
	for id := range after {
		after[id] -= before[id]
	}
	return after, end - start, nil
}

// threadTimes is the CPU time that each thread has used, by its id.
func (c *child) threadTimes() (map[int]time.Duration, error) {
	dir := fmt.Sprintf("/proc/%d/task", c.cmd.Process.Pid)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	times := make(map[int]time.Duration)
	for _, e := range entries {
		stat, err := os.ReadFile(filepath.Join(dir, e.Name(), "schedstat"))
		if err != nil {
			return nil, err
		}
		id, err := strconv.Atoi(e.Name())
		if err != nil {
			return nil, err
		}
		onCPU, _, _ := bytes.Cut(stat, []byte(" "))
		ns, err := strconv.ParseInt(string(onCPU), 10, 64)
		if err != nil {
			return nil, err
		}
		times[id] = time.Duration(ns)
	}
	return times, nil
}

// sample is one of perf's, with its stack from the inside out.
type sample struct {
	thread int
	period time.Duration
	stack  []string
}

// part returns which of parts the sample belongs to; the last matches all.
func (s *sample) part(parts []part) int {
	for i, p := range parts {
		for _, f := range s.stack {
			if p.functions.MatchString(f) {
				return i
			}
		}
	}
	return len(parts) - 1
}

// readSamples reads what perf has recorded: for each sample "thread period", a
// line "address function" for each frame, and an empty line.
func readSamples(file string) ([]sample, error) {
	out, err := exec.Command("perf", "script", "-i", file, "-F", "tid,period,ip,sym").Output()
	if err != nil {
		return nil, fmt.Errorf("perf script: %w", err)
	}
	var samples []sample
	within := false
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		switch {
		case len(fields) == 0:
			within = false
		case within:
			s := &samples[len(samples)-1]
			s.stack = append(s.stack, strings.Join(fields[1:], " "))
		default:
			var s sample
			if _, err := fmt.Sscan(lines.Text(), &s.thread, &s.period); err != nil {
				return nil, fmt.Errorf("perf script: cannot read %q", lines.Text())
			}
			samples = append(samples, s)
			within = true
		}
	}
	return samples, lines.Err()
}
