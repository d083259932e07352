// Package child runs another process of this same program as a server, so that
// server and client share no runtime. The server ends with whoever started it,
// however that ends: its standard input is a pipe that closes then.
package child

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// Listening is what a server prints, before its URL and a line end, once it can
// be reached.
const Listening = "listening on "

// Process is a server that runs.
type Process struct {
	// URL is where it says that it listens.
	URL     string
	command *exec.Cmd
	stdin   io.Closer
}

// Start starts this program with other arguments, as the server that errors call
// what, and waits until it listens. Variables LLMSIM_… are not passed on: they are
// meant for a server that the user starts.
func Start(what string, args ...string) (*Process, error) {
	failed := func(err error) (*Process, error) { return nil, fmt.Errorf("start %s: %w", what, err) }
	program, err := os.Executable()
	if err != nil {
		return failed(err)
	}
	command := exec.Command(program, args...)
	command.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "LLMSIM_")
	})
	command.Stderr = os.Stderr
	command.SysProcAttr = ownProcessGroup()
	stdin, err := command.StdinPipe()
	if err != nil {
		return failed(err)
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		return failed(err)
	}
	if err := command.Start(); err != nil {
		return failed(err)
	}
	p := &Process{command: command, stdin: stdin}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	url, found := strings.CutPrefix(strings.TrimSpace(line), Listening)
	if err != nil || !found {
		p.Stop()
		return failed(errors.Join(fmt.Errorf("it said %q instead of its address", line), err))
	}
	p.URL = url
	return p, nil
}

// Stop ends the server and waits for it.
func (p *Process) Stop() {
	_ = p.stdin.Close()
	_ = p.command.Wait() // its exit code says nothing that the results don't
}

// Orphaned returns a channel that is closed when this process's standard input
// closes, which is when its parent has ended or calls Stop.
func Orphaned() <-chan struct{} {
	closed := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(closed)
	}()
	return closed
}
