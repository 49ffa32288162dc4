package proof_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/child"
)

// orderEnv holds the order for a test binary that runs as a child process.
const orderEnv = "DISTLOCK_TEST_PROOF"

// order tells a child process what to do.
type order struct {
	Role     string
	Store    address
	Lease    time.Duration
	Register string // its address
	Waiters  int
}

// task is the state of a child process.
type task struct {
	order
	*distlock.Locker

	register *remote
	in       *bufio.Scanner
	awake    chan struct{} // closed when a process that was stopped has checked its lease
}

// roles are the tasks of child processes by name.
var roles = map[string]func(*task) error{"hold": holdKey, "crowd": beCrowd, "close": beClosed}

// beChild follows the order and returns the exit code.
func beChild(text string) int {
	if err := obey(text); err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		return 1
	}
	return 0
}

func obey(text string) (err error) {
	t := &task{in: bufio.NewScanner(os.Stdin), awake: make(chan struct{})}
	if err := json.Unmarshal([]byte(text), &t.order); err != nil {
		return err
	}
	if t.Register != "" {
		if t.register, err = dialRegister(t.Register); err != nil {
			return err
		}
	}
	var end func() error
	cfg := distlock.Config{CloseTimeout: closeTimeout}
	if t.Locker, end, err = t.Store.locker(cfg); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	return roles[t.Role](t)
}

// say writes a line to the parent.
func (t *task) say(what ...any) { fmt.Println(what...) }

// hear reads a line from the parent; "" if the parent has closed the pipe.
func (t *task) hear() string {
	t.in.Scan()
	return t.in.Text()
}

// process is the parent's view of a child process.
type process struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	lines  chan string
	exited <-chan struct{}
}

// start starts a child process. The process is killed at the end of the test if it
// still runs.
func start(tb testing.TB, o order) *process {
	tb.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		tb.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	p := &process{cmd: exec.Command(self), lines: make(chan string, 100)}
	p.cmd.Env = append(os.Environ(), orderEnv+"="+string(text))
	p.cmd.Stderr = os.Stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		tb.Fatal(err)
	}
	out, w, err := os.Pipe()
	if err != nil {
		tb.Fatal(err)
	}
	p.cmd.Stdout = w
	p.exited, err = child.Start(p.cmd)
	_ = w.Close()
	if err != nil {
		tb.Fatal(err)
	}
	go func() {
		defer close(p.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			p.lines <- s.Text()
		}
	}()
	tb.Cleanup(func() {
		p.kill()
		for range p.lines {
			continue // read to the end
		}
		_ = out.Close()
	})
	return p
}

// hears waits for a line that begins with word, and parses the rest into values.
func (p *process) hears(tb testing.TB, word string, values ...any) {
	tb.Helper()
	select {
	case line := <-p.lines:
		rest, ok := strings.CutPrefix(line, word)
		if !ok {
			tb.Fatalf("the child says %q, want %s", line, word)
		}
		if _, err := fmt.Sscanln(rest, values...); err != nil && len(values) > 0 {
			tb.Fatalf("the child says %q: %v", line, err)
		}
	case <-time.After(2 * patience):
		tb.Fatalf("the child does not say %s", word)
	}
}

func (p *process) tell(tb testing.TB, line string) {
	tb.Helper()
	if _, err := fmt.Fprintln(p.in, line); err != nil {
		tb.Fatal(err)
	}
}

func (p *process) signal(tb testing.TB, s os.Signal) {
	tb.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		tb.Fatal(err)
	}
}

// kill sends SIGKILL and waits until the process has ended.
func (p *process) kill() {
	_ = p.cmd.Process.Signal(syscall.SIGKILL) // it may have exited
	<-p.exited
}

// ends waits for the process to exit, which must be without an error.
func (p *process) ends(tb testing.TB) {
	tb.Helper()
	await(tb, "the child ends", p.exited)
	if !p.cmd.ProcessState.Success() {
		tb.Errorf("the child ended with %v", p.cmd.ProcessState)
	}
}
