package java_test

import (
	"testing"

	"github.com/distlock-go/distlock/internal/test/testmode"
	"github.com/distlock-go/distlock/lab/interop/internal/java"
)

func TestProcess(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	p := java.Build(t, "../../java").Start(t, "agent.Agent", "-", "-", "1000")
	p.Tell(1, "main", "echo", "hello", "world")
	if got := p.Line(); got != "1 hello world" {
		t.Errorf("the agent says %q", got)
	}
	p.Stop()
	p.Tell(2, "main", "echo", "still", "there")
	p.Cont()
	if got := p.Line(); got != "2 still there" {
		t.Errorf("after SIGCONT the agent says %q", got)
	}
	p.Kill()
	if line, ok := <-p.Lines(); ok {
		t.Errorf("after SIGKILL the agent says %q", line)
	}
}
