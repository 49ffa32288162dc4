//go:build !unix

package main

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// endingSignals end this process while it waits for the lock. While the command runs,
// the console sends it the same signals, so none are forwarded.
var (
	endingSignals = []os.Signal{os.Interrupt, syscall.SIGTERM}
	passedSignals []os.Signal
)

// process is a running command. Its descendants are unknown on this system.
type process struct {
	cmd     *exec.Cmd
	changes chan change
}

func startProcess(cmd *exec.Cmd, _ chan<- os.Signal) (*process, error) {
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, changes: make(chan change, 1)}
	go func() {
		err := cmd.Wait()
		c := change{ended: true}
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			c.code = exit.ExitCode()
		} else if err != nil {
			c.code = exitOS
		}
		p.changes <- c
	}()
	return p, nil
}

func (p *process) pass(os.Signal) {}

// terminate kills the command, because this system cannot ask it to end.
func (p *process) terminate() { p.kill() }

func (p *process) kill() { _ = p.cmd.Process.Kill() } // it may have ended

func (p *process) gone() bool { return true }

func (p *process) suspend(syscall.Signal) bool { return false }

func (p *process) resume() {}
