//go:build unix

package main

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// endingSignals end this process while it waits for the lock. While the command runs,
// endingSignals and passedSignals are forwarded to it. SIGTSTP is among these because
// it must not stop only this process, which renews the lease.
var (
	endingSignals = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT}
	passedSignals = []os.Signal{
		syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM, syscall.SIGWINCH, syscall.SIGTSTP, syscall.SIGCONT,
	}
)

// process is a command in its own process group. Its methods must be called from one
// goroutine. The group may outlive the command.
type process struct {
	pid      int         // of the command and of its group
	changes  chan change // events of the command; the last one is its end
	terminal *terminal   // nil if there is none
	hadTerm  bool        // it was in the foreground when it was stopped
}

// startProcess starts cmd, and notifies signals of the signals to forward. On Linux the
// command also dies when this process ends for any reason.
func startProcess(cmd *exec.Cmd, signals chan<- os.Signal) (*process, error) {
	cmd.SysProcAttr = ownGroup()
	p := &process{changes: make(chan change, 16)}
	notify(signals, passedSignals)
	adoptOrphans()
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // on Linux the parent is the thread that started the command
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		if err == nil {
			p.pid = cmd.Process.Pid
		}
		started <- err
		if err == nil {
			p.wait()
			_ = cmd.Process.Release() // it has ended
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	p.terminal = openTerminal()
	return p, nil
}

// wait reports the events of the command. [exec.Cmd.Wait] does not report that it was
// stopped.
func (p *process) wait() {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WUNTRACED, nil)
		switch {
		case err == nil && pid != p.pid: // an adopted orphan
		case errors.Is(err, syscall.EINTR):
		case err != nil: // the outcome is unknown
			p.changes <- change{ended: true, code: exitOS}
			return
		case status.Stopped():
			p.changes <- change{stopped: status.StopSignal()}
		case status.Signaled():
			p.changes <- change{ended: true, code: exitSignal + int(status.Signal())}
			return
		case status.Exited():
			p.changes <- change{ended: true, code: status.ExitStatus()}
			return
		}
	}
}

// send sends a signal to the whole group. It fails if the group has ended or belongs to
// another user.
func (p *process) send(s syscall.Signal) { _ = syscall.Kill(-p.pid, s) }

// pass forwards a signal that this process received.
func (p *process) pass(s os.Signal) { p.send(syscall.Signal(number(s))) }

// terminate sends SIGTERM to the group, also to its stopped processes.
func (p *process) terminate() {
	p.send(syscall.SIGTERM)
	p.send(syscall.SIGCONT)
}

func (p *process) kill() { p.send(syscall.SIGKILL) }

// gone reports whether the whole group has ended.
func (p *process) gone() bool {
	for { // a dead orphan counts until it is waited for
		if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); err != nil || pid <= 0 {
			break
		}
	}
	if !errors.Is(syscall.Kill(-p.pid, 0), syscall.ESRCH) {
		return false
	}
	p.terminal.take(p.pid)
	return true
}

// suspend does what a shell expects of a job that was stopped by s, and returns true
// when the command is to continue. It returns false if the terminal has nothing to do
// with it: then the lease is still renewed, and the sender of the signal will continue
// the command.
//
// The command has its own group, so the terminal sends its signals to this process,
// which forwards them. A command that reads from the terminal is stopped because of
// that, and is moved to the foreground here. If the user has stopped the command, this
// process stops as well, because the shell waits only for it: then the lease is not
// renewed, and nothing runs under it.
func (p *process) suspend(s syscall.Signal) bool {
	if p.terminal == nil || s != syscall.SIGTSTP && s != syscall.SIGTTIN && s != syscall.SIGTTOU {
		return false
	}
	if s != syscall.SIGTSTP && p.terminal.foreground() == ownPgrp() {
		p.hadTerm = true
		return true
	}
	p.hadTerm = p.terminal.take(p.pid)
	if own, err := unix.Getsid(0); err != nil || own == ownPgrp() {
		return true // without a shell nothing would continue this process
	}
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	_ = syscall.Kill(0, syscall.SIGSTOP) // the whole job; SIGTSTP is caught
	select {
	case <-continued:
	case <-time.After(time.Second): // it was continued before it was stopped
	}
	return true
}

// resume continues a stopped command, in the foreground if it was there and the user
// has brought the job back to the foreground.
func (p *process) resume() {
	if p.hadTerm {
		p.terminal.give(p.pid)
	}
	p.send(syscall.SIGCONT)
}
