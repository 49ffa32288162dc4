package testkit_test

import (
	"os"
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/test/child"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// echo is the role of a process that says what it hears.
func echo(c *testkit.Child) error {
	c.Say("ready", len(os.Args), true)
	for line := c.Hear(); line != ""; line = c.Hear() {
		c.Say("heard", line)
	}
	return nil
}

// TestProcess talks to a process that ends well.
func TestProcess(t *testing.T) {
	p := testkit.StartChild(t, "echo", nil, "one", "two")
	var args int
	var ok bool
	if p.Hear("ready", &args, &ok); args != 3 || !ok {
		t.Errorf("%d arguments, %v", args, ok)
	}
	p.Tell("hello", 7)
	if got := p.Line(); got != "heard hello 7" {
		t.Errorf("it says %q", got)
	}
	p.CloseInput()
	if code := p.Wait(); code != 0 || p.Runs() || p.Stderr() != "" {
		t.Errorf("it ends with %d: %s", code, p.Stderr())
	}
	if line, ok := <-p.Lines(); ok {
		t.Errorf("after its end it says %q", line)
	}
	p.Tell("nobody hears this")
}

// TestProcessStopped stops a process, lets it go on, and kills it while it is stopped.
func TestProcessStopped(t *testing.T) {
	if !child.CanStop {
		t.Skip("this system cannot stop a process")
	}
	p := testkit.StartChild(t, "echo", nil)
	p.Hear("ready")
	p.Stop()
	p.Tell("hello")
	select {
	case line := <-p.Lines():
		t.Errorf("it says %q although it is stopped", line)
	case <-time.After(50 * time.Millisecond):
	}
	p.Cont()
	p.Hear("heard hello")
	p.Stop()
	p.Kill()
	if code := p.Wait(); code != -1 || p.Runs() {
		t.Errorf("killed, it ends with %d", code)
	}
}
