package interop_test

import (
	"cmp"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/test/child"
	"github.com/distlock-go/distlock/internal/test/maven"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// roleAgent is the role of a child process that is an agent. Its order is servers.args.
const roleAgent = "agent"

// servers are what agents are started with.
type servers struct {
	redis, zooKeeper string // addresses; "-": there is none

	// lease is the lease of locks that have none of their own and are renewed, and the
	// timeout of sessions.
	lease time.Duration
}

func (s servers) args() []string {
	return []string{cmp.Or(s.redis, "-"), cmp.Or(s.zooKeeper, "-"), strconv.FormatInt(s.lease.Milliseconds(), 10)}
}

// peer is a process with an agent, in Java or in Go: both understand the same calls. A call
// has a thread that makes it, a library and its kind of lock, a verb, a key, and more:
//
//	LIBRARY.KIND try KEY [LEASE]          true or false, at once
//	LIBRARY.KIND wait KEY WAIT [LEASE]    true or false, after WAIT ms at the latest
//	LIBRARY.KIND unlock KEY               done
//	LIBRARY.KIND count KEY N COUNTER      done, after N increments of a counter in Redis
//
// and what only one of them can. The result of a call that failed begins with "!".
type peer struct {
	*testkit.Process

	t    *testing.T
	name string

	mu    sync.Mutex
	last  int
	calls map[string]*call // nil when the process has ended
}

// call is a call that may not have its result yet.
type call struct {
	text   string
	done   chan struct{}
	result string
	at     time.Time // of the result
}

// startJava starts the agent in Java.
func startJava(t *testing.T, s servers) *peer {
	t.Helper()
	p, err := maven.Build(t.Context(), "java")
	child.Need(t, err)
	// Small, and quick to start.
	args := []string{"-Xmx256m", "-Xss512k", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-cp", p.ClassPath, "agent.Agent"}
	return newPeer(t, "Java", testkit.StartProcess(t, exec.Command(p.Java, append(args, s.args()...)...)))
}

// startGo starts the agent in Go.
func startGo(t *testing.T, s servers) *peer {
	t.Helper()
	return newPeer(t, "Go", testkit.StartChild(t, roleAgent, s.args()))
}

// newPeer waits until an agent is ready. It ends when its input ends, and is killed if it has
// not ended soon after the test.
func newPeer(t *testing.T, name string, process *testkit.Process) *peer {
	t.Helper()
	t.Cleanup(func() {
		process.Cont() // the test may have stopped it
		process.CloseInput()
		select {
		case <-process.Exited():
		case <-time.After(5 * time.Second):
		}
	})
	process.Hear("ready")
	p := &peer{Process: process, t: t, name: name, calls: make(map[string]*call)}
	go func() {
		for line := range process.Lines() {
			id, result, _ := strings.Cut(line, " ")
			p.mu.Lock()
			c := p.calls[id]
			delete(p.calls, id)
			p.mu.Unlock()
			if c != nil {
				c.result, c.at = result, time.Now()
				close(c.done)
			}
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, c := range p.calls {
			c.result = "!the process has ended"
			close(c.done)
		}
		p.calls = nil
	}()
	return p
}

// start starts a call.
func (p *peer) start(thread string, words ...any) *call {
	p.t.Helper()
	words = append([]any{thread}, words...)
	c := &call{text: p.name + ": " + strings.TrimSpace(fmt.Sprintln(words...)), done: make(chan struct{})}
	p.mu.Lock()
	if p.calls == nil {
		p.t.Fatalf("%s: the process has ended", c.text)
	}
	p.last++
	id := strconv.Itoa(p.last)
	p.calls[id] = c
	p.mu.Unlock()
	p.Tell(append([]any{id}, words...)...)
	return c
}

// wait waits for the result.
func (c *call) wait(t *testing.T) string {
	t.Helper()
	select {
	case <-c.done:
		return c.result
	case <-time.After(2 * patience):
		t.Fatalf("no result: %s", c.text)
		return ""
	}
}

// do makes a call and returns its result.
func (p *peer) do(t *testing.T, thread string, words ...any) string {
	t.Helper()
	return p.start(thread, words...).wait(t)
}

// must makes a call. Its result must begin with want.
func (p *peer) must(t *testing.T, want, thread string, words ...any) string {
	t.Helper()
	return p.start(thread, words...).must(t, want)
}

// must waits for the result of a call, which must begin with want.
func (c *call) must(t *testing.T, want string) string {
	t.Helper()
	got := c.wait(t)
	if !strings.HasPrefix(got, want) {
		t.Fatalf("%s is %q, want %q", c.text, got, want)
	}
	return got
}
