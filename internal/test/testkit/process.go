package testkit

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/test/child"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// processPatience limits the wait for a child process, which may be a JVM.
const processPatience = 2 * time.Minute

// Process is a child process that a test talks to in lines, on its standard input and
// output. It is killed at the end of the test if it still runs. If the test fails, its
// standard error is logged.
type Process struct {
	Cmd *exec.Cmd // ProcessState is set when the process has ended

	tb     testing.TB
	exited <-chan struct{}
	lines  chan string
	stderr child.Output

	mu sync.Mutex // of in
	in io.WriteCloser
}

// StartChild runs the test binary once more, in a role. [BeChild] in TestMain plays it.
func StartChild(tb testing.TB, role string, order any, args ...string) *Process {
	tb.Helper()
	text, err := json.Marshal(order)
	if err == nil {
		text, err = json.Marshal(Child{Role: role, Order: text})
	}
	if err != nil {
		tb.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.Command(self, args...) //nolint:gosec // it is this program
	cmd.Env = append(os.Environ(), childEnv+"="+string(text))
	return StartProcess(tb, cmd)
}

// StartProcess starts a command, for a test in real time: see [testmode.InRealTime].
func StartProcess(tb testing.TB, cmd *exec.Cmd) *Process {
	tb.Helper()
	testmode.InRealTime(tb)
	p := &Process{Cmd: cmd, tb: tb, lines: make(chan string, 1024)}
	cmd.Stderr = &p.stderr
	var err error
	if p.in, err = cmd.StdinPipe(); err != nil {
		tb.Fatal(err)
	}
	out, w, err := os.Pipe() // unlike StdoutPipe, it keeps what a process said before it ended
	if err != nil {
		tb.Fatal(err)
	}
	cmd.Stdout = w
	p.exited, err = child.Start(cmd)
	_ = w.Close()
	if err != nil {
		_ = out.Close()
		tb.Fatal(err)
	}
	go func() {
		defer close(p.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			p.lines <- s.Text()
		}
	}()
	tb.Cleanup(func() {
		p.Kill()
		_ = out.Close() // children of the process may have the other end
		for range p.lines {
			continue // the reader ends
		}
		if said := p.Stderr(); tb.Failed() && said != "" {
			tb.Logf("%v of %s\n%s", cmd.ProcessState, cmd.Path, said)
		}
	})
	return p
}

// Lines returns a channel with the lines of the process. It is closed when the output has
// ended. A process waits if the test does not read a thousand of its lines.
func (p *Process) Lines() <-chan string { return p.lines }

// Line waits for the next line.
func (p *Process) Line() string {
	p.tb.Helper()
	select {
	case line, ok := <-p.lines:
		if !ok {
			p.tb.Fatalf("the process has ended; stderr: %s", p.Stderr())
		}
		return line
	case <-time.After(processPatience):
		p.tb.Fatalf("no line after %v; stderr: %s", processPatience, p.Stderr())
		return ""
	}
}

// Hear waits for the next line, which must begin with a word, and parses the rest into
// values.
func (p *Process) Hear(word string, values ...any) {
	p.tb.Helper()
	line := p.Line()
	rest, ok := strings.CutPrefix(line, word)
	if !ok {
		p.tb.Fatalf("the process says %q, want %s", line, word)
	}
	if len(values) == 0 {
		return
	}
	if _, err := fmt.Sscanln(rest, values...); err != nil {
		p.tb.Fatalf("the process says %q: %v", line, err)
	}
}

// Tell writes a line of words to the process. A process that has ended does not get it.
func (p *Process) Tell(words ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = fmt.Fprintln(p.in, words...)
}

// CloseInput ends the input of the process.
func (p *Process) CloseInput() {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.in.Close()
}

// Stderr returns what the process has written to its standard error so far.
func (p *Process) Stderr() string { return p.stderr.String() }

// Signal sends a signal to a process that must run.
func (p *Process) Signal(s os.Signal) {
	p.tb.Helper()
	if err := p.Cmd.Process.Signal(s); err != nil {
		p.tb.Fatalf("%v to a process: %v", s, err)
	}
}

// Stop stops the process: its connections stay open. It has stopped when Stop returns.
func (p *Process) Stop() {
	p.tb.Helper()
	if err := child.Stop(p.Cmd.Process); err != nil && p.Runs() {
		p.tb.Fatalf("stopping a process: %v", err)
	}
}

// Cont continues a stopped process.
func (p *Process) Cont() {
	p.tb.Helper()
	if err := child.Cont(p.Cmd.Process); err != nil && p.Runs() {
		p.tb.Fatalf("continuing a process: %v", err)
	}
}

// Kill kills the process with SIGKILL, and waits until it has ended.
func (p *Process) Kill() {
	_ = p.Cmd.Process.Kill() // it may have ended
	<-p.exited
}

// Exited returns a channel that is closed when the process has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Runs reports whether the process has not ended.
func (p *Process) Runs() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// Wait waits until the process has ended, and returns its exit code, which is -1 after a
// signal. If it does not end, the test fails with the stacks of a program in Go.
func (p *Process) Wait() (code int) {
	p.tb.Helper()
	select {
	case <-p.exited:
	case <-time.After(processPatience):
		p.Dump()
		p.tb.Fatalf("the process does not end; stderr: %s", p.Stderr())
	}
	return p.Cmd.ProcessState.ExitCode()
}

// Dump ends the process. If it can, it first prints the stacks of its goroutines to its
// standard error.
func (p *Process) Dump() {
	_ = child.Cont(p.Cmd.Process)
	_ = p.Cmd.Process.Signal(syscall.SIGQUIT)
	select {
	case <-p.exited:
	case <-time.After(10 * time.Second):
		p.Kill()
	}
}
