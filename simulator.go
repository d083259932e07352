package main

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

// simulator is a child process that runs serve, so that server and client share
// no runtime. Its standard input is a pipe that closes with this process,
// however that ends, and the child ends with it.
type simulator struct {
	url     string
	command *exec.Cmd
	stdin   io.Closer
}

// startSimulator starts serve on a free loopback port and waits until it
// listens.
func startSimulator() (*simulator, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("start the simulator: %w", err)
	}
	command := exec.Command(program, "serve", "--"+flagListen, "127.0.0.1:0", "--"+flagUntilStdin)
	command.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "LLMSIM_") // meant for a server that the user starts
	})
	command.Stderr = os.Stderr
	command.SysProcAttr = ownProcessGroup()
	stdin, err := command.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start the simulator: %w", err)
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start the simulator: %w", err)
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("start the simulator: %w", err)
	}
	s := &simulator{command: command, stdin: stdin}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	url, found := strings.CutPrefix(strings.TrimSpace(line), listeningOn)
	if err != nil || !found {
		s.stop()
		return nil, errors.Join(fmt.Errorf("start the simulator: it said %q instead of its address", line), err)
	}
	s.url = url
	return s, nil
}

// stop ends the child and waits for it.
func (s *simulator) stop() {
	_ = s.stdin.Close()
	_ = s.command.Wait() // its exit code says nothing that the results don't
}
