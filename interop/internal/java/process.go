package java

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/child"
)

// patience limits the wait for a line on a slow and busy machine.
const patience = 3 * time.Minute

// flags make a JVM small, and quick to start.
var flags = []string{"-Xmx256m", "-Xss512k", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto"}

// Process is a program that a test talks to. It reads lines from its standard input and writes lines
// to its standard output. It ends when its input ends.
type Process struct {
	tb     testing.TB
	cmd    *exec.Cmd
	exited <-chan struct{}
	lines  chan string // closed when the output has ended
	errors *output

	mu      sync.Mutex
	in      io.WriteCloser
	stopped bool
}

// Start starts the program of a main class as [Run] does.
func (p *Project) Start(tb testing.TB, mainClass string, args ...string) *Process {
	tb.Helper()
	all := slices.Concat(flags, []string{"-cp", p.maven.ClassPath, mainClass}, args)
	return Run(tb, exec.Command(p.maven.Java, all...)) //nolint:gosec // a test's own program
}

// Run starts a program, in Java or not, and waits until it has written the line "ready".
// The program is ended with the test.
func Run(tb testing.TB, cmd *exec.Cmd) *Process {
	tb.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	read, write := io.Pipe()
	s := &Process{tb: tb, cmd: cmd, lines: make(chan string, 1024), errors: new(output), in: in}
	cmd.Stdout, cmd.Stderr = write, s.errors
	if s.exited, err = child.Start(cmd); err != nil {
		tb.Fatal(err)
	}
	go func() {
		<-s.exited // and all of the output has been read
		_ = write.Close()
	}()
	go func() {
		defer close(s.lines)
		for out := bufio.NewScanner(read); out.Scan(); {
			s.lines <- out.Text()
		}
		_, _ = io.Copy(io.Discard, read)
	}()
	tb.Cleanup(s.end)
	if line := s.Line(); line != "ready" {
		tb.Fatalf("java: the program began with the line %q", line)
	}
	return s
}

// Send writes a line of words.
func (p *Process) Send(words ...any) {
	p.tb.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, err := fmt.Fprintln(p.in, words...); err != nil {
		p.tb.Errorf("java: %v\n%s", err, p.errors)
	}
}

// Line returns the next line. It fails the test if there is none.
func (p *Process) Line() string {
	p.tb.Helper()
	select {
	case line, ok := <-p.lines:
		if !ok {
			p.tb.Fatalf("java: the program has ended\n%s", p.errors)
		}
		return line
	case <-time.After(patience):
		p.tb.Fatalf("java: no line after %v\n%s", patience, p.errors)
		return ""
	}
}

// Lines returns a channel with the lines of the program. It is closed when the program
// has ended.
func (p *Process) Lines() <-chan string { return p.lines }

// Stop sends SIGSTOP: connections stay open, and the program does nothing.
func (p *Process) Stop() {
	p.tb.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := child.Stop(p.cmd.Process); err != nil {
		p.tb.Fatalf("java: %v", err)
	}
	p.stopped = true
}

// Cont continues a stopped program.
func (p *Process) Cont() {
	p.tb.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := child.Cont(p.cmd.Process); err != nil {
		p.tb.Fatalf("java: %v", err)
	}
	p.stopped = false
}

// Kill kills the program with SIGKILL, and waits until it has ended.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // it may have ended by itself
	<-p.exited
}

// end ends the input, waits a moment for the program to end, and kills it.
func (p *Process) end() {
	p.mu.Lock()
	_ = p.in.Close()
	stopped := p.stopped
	p.mu.Unlock()
	if !stopped {
		select {
		case <-p.exited:
		case <-time.After(5 * time.Second):
		}
	}
	p.Kill()
	if p.tb.Failed() {
		p.tb.Logf("java: standard error:\n%s", p.errors)
	}
}

// output is a buffer that a process writes to while others read it.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements io.Writer.
func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(b)
}

// String returns what was written.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}
