package java

import (
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/test/testkit"
)

// flags make a JVM small, and quick to start.
var flags = []string{"-Xmx256m", "-Xss512k", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto"}

// Start starts the program of a main class as [Run] does.
func (p *Project) Start(tb testing.TB, mainClass string, args ...string) *testkit.Process {
	tb.Helper()
	all := slices.Concat(flags, []string{"-cp", p.maven.ClassPath, mainClass}, args)
	return Run(tb, exec.Command(p.maven.Java, all...)) //nolint:gosec // a test's own program
}

// Run starts a program, in Java or not, and waits until it has written the line "ready". It
// ends when its input ends, and is killed if it has not ended soon after the test.
func Run(tb testing.TB, cmd *exec.Cmd) *testkit.Process {
	tb.Helper()
	p := testkit.StartProcess(tb, cmd)
	tb.Cleanup(func() {
		p.Cont() // the test may have stopped it
		p.CloseInput()
		select {
		case <-p.Exited():
		case <-time.After(5 * time.Second):
		}
	})
	p.Hear("ready")
	return p
}
