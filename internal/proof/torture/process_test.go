package torture

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/child"
)

// process is a child process with workers.
type process struct {
	config config
	cmd    *exec.Cmd
	exited <-chan struct{}
	stdin  io.WriteCloser
	stderr *bytes.Buffer
	killed bool

	killedAt int64
}

// startProcess starts the test binary as a child process.
func startProcess(tb testing.TB, c config) *process {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	text, err := json.Marshal(c)
	if err != nil {
		tb.Fatal(err)
	}
	p := &process{config: c, cmd: exec.Command(self), stderr: new(bytes.Buffer)}
	p.cmd.Env = append(os.Environ(), childEnv+"="+string(text))
	p.cmd.Stdout, p.cmd.Stderr = p.stderr, p.stderr
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		tb.Fatal(err)
	}
	if p.exited, err = child.Start(p.cmd); err != nil {
		tb.Fatalf("starting process %s: %v", c.Proc, err)
	}
	return p
}

// tell sends a command. A process that has just exited does not get it.
func (p *process) tell(command string) { _, _ = fmt.Fprintln(p.stdin, command) }

func (p *process) stop(tb testing.TB) {
	tb.Helper()
	if err := child.Stop(p.cmd.Process); err != nil && p.runs() {
		tb.Fatalf("stopping process %s: %v", p.config.Proc, err)
	}
}

func (p *process) cont(tb testing.TB) {
	tb.Helper()
	if err := child.Cont(p.cmd.Process); err != nil && p.runs() {
		tb.Fatalf("continuing process %s: %v", p.config.Proc, err)
	}
}

// kill kills the process and waits until it has exited.
func (p *process) kill() {
	if !p.killed && p.runs() {
		p.killed, p.killedAt = true, now()
	}
	_ = p.cmd.Process.Kill() // it may have exited
	<-p.exited
}

// dump ends a process that does not exit. If it can, the process first prints its
// goroutines.
func (p *process) dump() {
	_ = child.Cont(p.cmd.Process)
	_ = p.cmd.Process.Signal(syscall.SIGQUIT)
	select {
	case <-p.exited:
	case <-time.After(10 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.exited
	}
}

func (p *process) runs() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// journalOf returns the name of a process's journal in dir.
func journalOf(dir, proc string) string { return filepath.Join(dir, "process-"+proc+".jsonl") }
