package child

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/distlock-go/distlock/internal/test/testmode"
)

// tries is how often Launch tries. Another process may take a port before the server
// listens on it.
const tries = 5

// Server is a server process on ports of 127.0.0.1. It can be stopped, killed, and started
// again on the same ports.
type Server struct {
	// Name is the name of the server in errors.
	Name string
	// Ports are chosen by Launch, as many as there are. Clients use the first.
	Ports []int
	// Command returns the command that starts the server on its ports.
	Command func() (*exec.Cmd, error)
	// Ready reports whether the server serves clients.
	Ready func() bool

	output Output

	mu     sync.Mutex
	cmd    *exec.Cmd
	exited <-chan struct{}
	from   int // where the output of the present process begins
}

// process is a Server, or a type that embeds one.
type process interface{ base() *Server }

func (s *Server) base() *Server { return s }

func bases[S process](servers []S) (all []*Server) {
	for _, s := range servers {
		all = append(all, s.base())
	}
	return all
}

// Run launches servers for a test, and kills them when it ends. See [Need] for what happens
// without the program.
func Run[S process](tb TB, servers ...S) {
	tb.Helper()
	testmode.InRealTime(tb)
	for _, s := range servers {
		tb.Cleanup(s.base().Kill)
	}
	Need(tb, Launch(servers...))
}

// Launch starts servers on free ports, and waits until all are ready: a member of a cluster
// is not ready without the others.
func Launch[S process](all ...S) error {
	servers := bases(all)
	var err error
	for range tries {
		for _, s := range servers {
			for i := range s.Ports {
				if s.Ports[i], err = freePort(); err != nil {
					return err
				}
			}
		}
		if err = start(servers); err == nil {
			return nil
		}
		for _, s := range servers {
			s.Kill()
		}
	}
	return err
}

func start(servers []*Server) error {
	for _, s := range servers {
		if err := s.boot(); err != nil {
			return fmt.Errorf("%s does not start: %w", s.Name, err)
		}
	}
	for _, s := range servers {
		if err := s.await(); err != nil {
			return fmt.Errorf("%s does not start: %w", s.Name, err)
		}
	}
	return nil
}

// boot starts the process.
func (s *Server) boot() error {
	cmd, err := s.Command()
	if err != nil {
		return err
	}
	from := len(s.output.String())
	cmd.Stdout, cmd.Stderr = &s.output, &s.output
	exited, err := Start(cmd)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cmd, s.exited, s.from = cmd, exited, from
	return nil
}

// await waits until the server is ready.
func (s *Server) await() error {
	cmd, exited := s.process()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for begin := time.Now(); time.Since(begin) < Patience; {
		select {
		case <-exited:
			return fmt.Errorf("%v: %s", cmd.ProcessState, s.Output())
		case <-tick.C:
			if s.Ready() {
				return nil
			}
		}
	}
	return errors.New("it does not become ready: " + s.Output())
}

func (s *Server) process() (*exec.Cmd, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cmd, s.exited
}

// Addr returns host and port for clients.
func (s *Server) Addr() string { return Address(s.Ports[0]) }

// Address returns a port of 127.0.0.1 with its host.
func Address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// Output returns the output since the last start.
func (s *Server) Output() string {
	s.mu.Lock()
	from := s.from
	s.mu.Unlock()
	return s.output.String()[from:]
}

// Stop stops all processes of the server: connections stay open, and it does not answer.
func (s *Server) Stop(tb TB) {
	tb.Helper()
	cmd, _ := s.process()
	if err := Stop(cmd.Process); err != nil {
		tb.Fatal("stopping", s.Name+":", err)
	}
	for _, p := range children(cmd.Process) {
		_ = Stop(p) // it may have ended
	}
}

// Cont continues a stopped server, with its children first: a server that runs buries
// those that have ended, and Linux then leaves out others in the list.
func (s *Server) Cont(tb TB) {
	tb.Helper()
	cmd, _ := s.process()
	for _, p := range children(cmd.Process) {
		_ = Cont(p) // it may have ended
	}
	if err := Cont(cmd.Process); err != nil {
		tb.Fatal("continuing", s.Name+":", err)
	}
}

// Kill kills all processes of the server and waits until they have ended. It does nothing if
// they have ended, or if the server was never started.
func (s *Server) Kill() {
	cmd, exited := s.process()
	if cmd == nil {
		return
	}
	if Stop(cmd.Process) == nil { // it gets no new children
		for _, p := range children(cmd.Process) {
			_ = p.Kill()
		}
	}
	_ = cmd.Process.Kill() // it may have ended
	<-exited               // and the output of all has been read
}

// Shutdown asks the server to end, with a signal, and waits until it has ended.
func (s *Server) Shutdown(tb TB, signal os.Signal) {
	tb.Helper()
	cmd, exited := s.process()
	if err := cmd.Process.Signal(signal); err != nil {
		tb.Fatal("ending "+s.Name+":", err)
	}
	select {
	case <-exited:
	case <-time.After(Patience):
		tb.Fatal(s.Name+" does not end:", s.Output())
	}
}

// Restart starts the server again after Kill or Shutdown, with its data and on the same
// ports.
func (s *Server) Restart(tb TB) {
	tb.Helper()
	restart(tb, []*Server{s})
}

func restart(tb TB, servers []*Server) {
	tb.Helper()
	if err := start(servers); err != nil {
		tb.Fatal("again:", err)
	}
}

// children returns the child processes of a process, which must not have ended. Linux lists
// them; on other systems there are none.
func children(of *os.Process) []*os.Process {
	list, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", of.Pid))
	if err != nil {
		return nil
	}
	var all []*os.Process
	for word := range strings.FieldsSeq(string(list)) {
		pid, _ := strconv.Atoi(word)
		if p, err := os.FindProcess(pid); err == nil {
			all = append(all, p)
		}
	}
	return all
}
