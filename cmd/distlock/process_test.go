//go:build unix

package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// machine is a directory in which distlock runs, with its own redis-server.
type machine struct {
	*testing.T
	server *redistest.Server
	dir    string
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	t.Parallel()
	return &machine{t, redistest.Start(t), t.TempDir()}
}

// start starts distlock run with the arguments.
func (m *machine) start(args ...string) *testkit.Process {
	m.Helper()
	cmd := exec.Command("distlock", append([]string{"run"}, args...)...)
	cmd.Dir = m.dir
	cmd.Env = append(os.Environ(), backendEnv+"=redis://"+m.server.Addr(), raceExit)
	cmd.WaitDelay = time.Second // children of a killed command may have the pipe
	p := testkit.StartProcess(m, cmd)
	m.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // its command ends, too
		_ = p.Wait()
	})
	return p
}

// ends checks the exit code.
func (m *machine) ends(p *testkit.Process, code int) {
	m.Helper()
	if got := p.Wait(); got != code {
		m.Errorf("exit code %d, want %d: %s", got, code, p.Stderr())
	}
}

func (m *machine) path(name string) string { return filepath.Join(m.dir, name) }

// read returns the content of a file; "" if it does not exist.
func (m *machine) read(name string) string {
	m.Helper()
	text, err := os.ReadFile(m.path(name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		m.Fatal(err)
	}
	return string(text)
}

// has waits for a file with a whole line in it, and returns its text.
func (m *machine) has(name string) string {
	m.Helper()
	testkit.Eventually(m, name+" is written", func() bool { return strings.HasSuffix(m.read(name), "\n") })
	return strings.TrimSpace(m.read(name))
}

func (m *machine) touch(name string) {
	m.Helper()
	if err := os.WriteFile(m.path(name), nil, 0o600); err != nil {
		m.Fatal(err)
	}
}

// stopStore stops Redis. The current lease ends between the two times that it returns.
func (m *machine) stopStore(key string, lease time.Duration) (first, last time.Time) {
	m.Helper()
	for start := time.Now(); time.Since(start) < testkit.Patience; <-time.After(lease / 20) {
		asked := time.Now()
		left, err := m.server.Client(m).PTTL(m.Context(), key).Result()
		if err != nil || left <= 0 {
			m.Fatal(left, err)
		}
		m.server.Stop()
		// The next renewal is a third of a lease after the last one, and may have
		// happened meanwhile.
		if stopped := time.Now(); lease-left+stopped.Sub(asked) < lease/3-lease/10 {
			return asked.Add(left), stopped.Add(lease)
		}
		m.server.Cont()
	}
	m.Fatal("Redis was not stopped between two renewals")
	return first, last
}

// alive reports whether the process with the number in the file exists. Where the state
// of a process can be read, a zombie does not count.
func (m *machine) alive(name string) bool {
	m.Helper()
	pid, err := strconv.Atoi(m.has(name))
	if err != nil {
		m.Fatal(err)
	}
	if stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat"); err == nil {
		_, state, _ := strings.Cut(string(stat), ") ") // after the name
		return !strings.HasPrefix(state, "Z") && !strings.HasPrefix(state, "X")
	}
	return syscall.Kill(pid, 0) == nil
}

// TestKilled kills the process that has the lock. The waiter gets the lock when the
// lease has expired, and the first command is dead by then.
func TestKilled(t *testing.T) {
	m := newMachine(t)
	const lease = 2 * time.Second
	first := m.start("-key", "deploy", "-lease", lease.String(), "--", "sh", "-c", "echo $$ >first; exec sleep 60")
	m.has("first")
	second := m.start("-key", "deploy", "--", "sh", "-c", "echo $$ >second")
	testkit.Eventually(m, "the second waits", func() bool {
		return m.server.Client(t).ZCard(t.Context(), "{deploy}:queue").Val() == 1
	})
	killed := time.Now()
	first.Kill()
	m.ends(second, 0)
	if d := time.Since(killed); d > lease+10*time.Second { // the rest of the lease, plus time for a slow machine
		t.Errorf("the second had to wait for %v", d)
	}
	m.has("second")
	if runtime.GOOS == "linux" && m.alive("first") {
		t.Error("the command of the first is alive")
	}
}

// TestStoreHangs stops Redis. The command is dead before Redis could grant the key to
// the waiter, which gets it when Redis continues.
func TestStoreHangs(t *testing.T) {
	testmode.Long(t)
	for _, c := range []struct {
		onLost       string
		lease, grace time.Duration // a tenth of the lease is for a machine that stalls
		code         int
		asked        bool   // the command got SIGTERM
		say          string // text on stderr
	}{
		{onLostKill, 10 * time.Second, 2 * time.Second, exitLost, false, "the command is stopped: the lease ends in"},
		{onLostTerm, 10 * time.Second, 2 * time.Second, exitLost, true, "the command is stopped: the lease ends in"},
		{onLostIgnore, 2 * time.Second, 300 * time.Millisecond, 3, false, "the command continues without its lock"},
	} {
		t.Run(c.onLost, func(t *testing.T) {
			m := newMachine(t)
			const script = `trap 'echo asked >asked' TERM; echo $$ >first
				until test -e stop; do echo >>alive; sleep 0.02; done; exit 3`
			first := m.start("-key", "deploy", "-lease", c.lease.String(), "-grace", c.grace.String(), "-on-lost", c.onLost, "--", "sh", "-c", script)
			m.has("first")
			second := m.start("-key", "deploy", "--", "sh", "-c", "echo >second")
			testkit.Eventually(m, "the second waits", func() bool {
				return m.server.Client(t).ZCard(t.Context(), "{deploy}:queue").Val() == 1
			})
			end, latest := m.stopStore("deploy", c.lease)
			if c.onLost == onLostIgnore {
				testkit.Eventually(m, "there is a sign of life after the lease", func() bool { return m.lastAlive().After(latest) })
				testkit.Eventually(m, "there is a warning", func() bool { return strings.Contains(first.Stderr(), c.say) })
				m.touch("stop")
			}
			testkit.Eventually(m, "the command ends", func() bool { return !m.alive("first") })
			if last := m.lastAlive(); c.onLost != onLostIgnore && last.After(end) {
				t.Errorf("the command was alive %v after the lease", last.Sub(end))
			}
			if asked := m.read("asked") != ""; asked != c.asked {
				t.Errorf("asked to end: %v", asked)
			}
			m.server.Cont()
			m.ends(first, c.code)
			m.ends(second, 0)
			m.has("second")
			if !strings.Contains(first.Stderr(), c.say) {
				t.Errorf("stderr: %s", first.Stderr())
			}
		})
	}
}

// lastAlive returns when the command last gave a sign of life.
func (m *machine) lastAlive() time.Time {
	m.Helper()
	info, err := os.Stat(m.path("alive"))
	if err != nil {
		m.Fatal(err)
	}
	return info.ModTime()
}
