package child_test

import (
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
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

// state returns the state of a process as Linux names it: "S" if it sleeps, "T" if it is
// stopped.
func state(pid string) string {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return "X"
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return after[:1]
}

// TestServerWithChildren checks that the children of a server are stopped, continued and
// killed with it, and that it starts again on its ports. A part of the children ends while
// all are stopped: none of the others stays behind.
func TestServerWithChildren(t *testing.T) {
	s := newServer(func(*child.Server) string {
		return "for i in $(seq 300); do sleep 1000 & echo $!; done; trap : CHLD; echo ready; while :; do wait; done"
	})
	if err := child.Launch(s); err != nil {
		t.Fatal(err)
	}
	ports := slices.Clone(s.Ports)
	// The signal reaches a process that is not our own child a moment later.
	become := func(pids []string, states string) {
		t.Helper()
		for _, pid := range pids {
			child.Await(t, "the state of "+pid+" is one of "+states, func() bool { return strings.Contains(states, state(pid)) })
		}
	}
	for range 2 {
		pids := strings.Fields(s.Output())
		pids = pids[:len(pids)-1]
		s.Stop(t)
		become(pids, "T")
		for _, pid := range pids[:200] {
			n, _ := strconv.Atoi(pid)
			_ = syscall.Kill(n, syscall.SIGKILL)
		}
		become(pids[:200], "Z")
		s.Cont(t)
		become(pids[200:], "S")
		s.Stop(t)
		s.Kill()
		become(pids, "XZ")
		s.Restart(t)
	}
	s.Kill()
	s.Kill() // again
	if !slices.Equal(s.Ports, ports) {
		t.Errorf("ports %v, then %v", ports, s.Ports)
	}
}
