package child_test

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/distlock-go/distlock/internal/test/child"
)

// newServer returns a server that is a shell with a script.
func newServer(script func(s *child.Server) string) *child.Server {
	s := &child.Server{Name: "a shell", Ports: make([]int, 2)}
	s.Command = func() (*exec.Cmd, error) { return exec.Command("sh", "-c", script(s)), nil }
	s.Ready = func() bool { return strings.Contains(s.Output(), "ready") }
	return s
}

// TestLaunchOnOtherPorts checks that a server that ends at once is tried again on other ports,
// and that the error of the last try tells what it said.
func TestLaunchOnOtherPorts(t *testing.T) {
	var tried [][]int
	s := newServer(func(s *child.Server) string {
		tried = append(tried, slices.Clone(s.Ports))
		if len(tried) == 3 {
			return "echo ready; sleep 1000"
		}
		return "echo the port is taken; exit 7"
	})
	if err := child.Launch(s); err != nil {
		t.Fatal(err)
	}
	s.Kill()
	if len(tried) != 3 || slices.Equal(tried[1], tried[2]) || s.Log() != strings.Repeat("the port is taken\n", 2)+"ready\n" || s.Output() != "ready\n" {
		t.Errorf("tried with %v; all output %q, the last %q", tried, s.Log(), s.Output())
	}
	bad := newServer(func(*child.Server) string { return "echo the port is taken; exit 7" })
	if err := child.Launch(bad); err == nil || !strings.Contains(err.Error(), "a shell does not start: exit status 7: the port is taken") {
		t.Errorf("error %v", err)
	}
}

// TestServerWithChildren checks that the children of a server are stopped, continued and
// killed with it, and that it starts again on its ports.
func TestServerWithChildren(t *testing.T) {
	s := newServer(func(*child.Server) string { return "sleep 1000 & echo ready $!; wait" })
	if err := child.Launch(s); err != nil {
		t.Fatal(err)
	}
	ports := slices.Clone(s.Ports)
	// The signal reaches a process that is not our own child a moment later.
	becomes := func(states string) {
		t.Helper()
		child.Await(t, "its state is one of "+states, func() bool {
			var pid int
			if _, err := fmt.Sscanf(s.Output(), "ready %d\n", &pid); err != nil {
				t.Fatal(err)
			}
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			if err != nil {
				stat = []byte("(gone) X")
			}
			_, state, _ := strings.Cut(string(stat), ") ")
			return strings.Contains(states, state[:1])
		})
	}
	for range 3 {
		s.Stop(t)
		becomes("T")
		s.Cont(t)
		becomes("S")
		s.Stop(t)
		s.Kill()
		becomes("XZ")
		s.Restart(t)
	}
	s.Kill()
	s.Kill() // again
	if !slices.Equal(s.Ports, ports) {
		t.Errorf("ports %v, then %v", ports, s.Ports)
	}
}
