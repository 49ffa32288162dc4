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

// endingSignals end this process while it waits for the lock; while the command
// runs they are passed on to it, as are passedSignals. SIGTSTP is among these
// because it must not stop this process alone, which renews the lease.
var (
	endingSignals = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT}
	passedSignals = []os.Signal{
		syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM, syscall.SIGWINCH, syscall.SIGTSTP, syscall.SIGCONT,
	}
)

// number is what a shell adds to 128 for a process that the signal ended.
func number(s os.Signal) int {
	n, _ := s.(syscall.Signal)
	return int(n)
}

// process is a command in a process group of its own. Its methods are for one
// goroutine. The group may outlive the command.
type process struct {
	pid      int         // of the command, and of its group
	changes  chan change // what becomes of the command; the last one is its end
	terminal *terminal   // nil: there is none
	hadTerm  bool        // it had the terminal when it was stopped
}

// change is that the command was stopped, or that it has ended.
type change struct {
	ended   bool
	code    int            // if it has ended
	stopped syscall.Signal // if it has not
}

// startProcess starts cmd, and has the signals sent to the channel that are to be
// passed on. Where the system can do that the command dies with this process,
// however this one ends.
func startProcess(cmd *exec.Cmd, signals chan<- os.Signal) (*process, error) {
	cmd.SysProcAttr = ownGroup()
	p := &process{changes: make(chan change, 16)}
	notify(signals, passedSignals)
	adoptOrphans()
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // for Linux the parent is the thread that started it
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		if err == nil {
			p.pid = cmd.Process.Pid
		}
		started <- err
		if err == nil {
			p.wait()
			_ = cmd.Process.Release() // it is gone
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	p.terminal = openTerminal()
	return p, nil
}

// wait tells what becomes of the command. It is not [exec.Cmd.Wait] because that
// does not tell when it is stopped.
func (p *process) wait() {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WUNTRACED, nil)
		switch {
		case err == nil && pid != p.pid: // an orphan, of which nobody asks
		case errors.Is(err, syscall.EINTR):
		case err != nil: // nobody can say what became of it
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

// send sends a signal to the whole group. It fails if that is gone, or another
// user's.
func (p *process) send(s syscall.Signal) { _ = syscall.Kill(-p.pid, s) }

// pass passes on a signal that this process got.
func (p *process) pass(s os.Signal) {
	if n, ok := s.(syscall.Signal); ok {
		p.send(n)
	}
}

// terminate asks the group to end, also what of it is stopped.
func (p *process) terminate() {
	p.send(syscall.SIGTERM)
	p.send(syscall.SIGCONT)
}

func (p *process) kill() { p.send(syscall.SIGKILL) }

// gone reports whether nothing of the group is left.
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

// suspend does what a shell expects of a job that was stopped by s, and returns
// true when the command is to go on. It returns false if this is no matter of the
// terminal: then the lease is renewed further, and whoever stopped the command
// will continue it.
//
// The command is in a group of its own, so that the signals of the terminal come
// to this process, which passes them on. If it reads from the terminal it is
// stopped for that, and given the terminal here. If the user has stopped it, this
// process stops too, since the shell waits for nobody else: nothing renews the
// lease then, and nothing runs under it.
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
		return true // no shell is there that could continue us
	}
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	_ = syscall.Kill(0, syscall.SIGSTOP) // all of the job; SIGTSTP is caught
	select {
	case <-continued:
	case <-time.After(time.Second): // it was continued before it was stopped
	}
	return true
}

// resume lets the command go on where it was stopped, with the terminal if it had
// that and the user has brought the job back to the foreground.
func (p *process) resume() {
	if p.hadTerm {
		p.terminal.give(p.pid)
	}
	p.send(syscall.SIGCONT)
}
