//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	"llmsim-bench/internal/hist"
	"llmsim-bench/internal/wire"
)

// modelsFile is where models.yml lies for the servers.
var modelsFile string

// program is something to measure.
type program struct {
	name string
	path string
	args []string
	env  []string // beyond this process's own
	// lag asks the running program for the lag of its tokens.
	lag func(c *child) (hist.Stats, error)
	// before is how many frames of an answer come before its first token.
	before int
}

// simulator is the server at a path, or with variables before it.
func simulator(command, model string) program {
	words := strings.Fields(command)
	if len(words) == 0 {
		words = []string{command}
	}
	last := len(words) - 1
	return program{
		name: command, path: words[last], env: words[:last], before: 1, // the role
		args: []string{"serve", "--listen", "127.0.0.1:0", "--until-stdin-closes", "--models", modelsFile},
		lag:  func(c *child) (hist.Stats, error) { return serverLag(c, model) },
	}
}

func serverLag(c *child, model string) (hist.Stats, error) {
	answer, err := http.Get("http://" + c.address + "/metrics/summary")
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
}

// child is a process that ends when its standard input does.
type child struct {
	address string
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	stdout  *bufio.Reader
}

// start runs a program that prints "listening on http://ADDRESS/…" first.
func start(p program) (*child, error) {
	cmd := exec.Command(p.path, p.args...)
	cmd.Env = append(os.Environ(), p.env...)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &child{cmd: cmd, stdin: stdin, stdout: bufio.NewReader(stdout)}
	line, err := c.stdout.ReadString('\n')
	if err != nil {
		c.stop()
		return nil, fmt.Errorf("%s ended before it listened: %w", p.name, err)
	}
	_, rest, _ := strings.Cut(line, "http://")
	c.address, _, _ = strings.Cut(strings.TrimSpace(rest), "/")
	return c, nil
}

func (c *child) cpu() (time.Duration, error) { return cpuTime(c.cmd.Process.Pid) }

func (c *child) stop() {
	_ = c.stdin.Close()
	_ = c.cmd.Wait() // how it ends does not matter any more
}
