package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"syscall"
	"testing"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/admin"
	"github.com/distlock-go/distlock/cmd/backendurl"
	"github.com/distlock-go/distlock/internal/test/child"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/sqltest"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/zktest"
)

// Three processes wait for one that has the lock. The table shows them in the order in which
// they came, each with its name and what it asks for, until they leave or are served.
func TestQueueIsSeen(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(t *testing.T) string{
		"Redis":      func(t *testing.T) string { t.Helper(); return "redis://" + redistest.Start(t).Addr() },
		"ZooKeeper":  func(t *testing.T) string { t.Helper(); return "zk://" + zktest.Start(t, zktest.Config{}).Addr() },
		"PostgreSQL": func(t *testing.T) string { t.Helper(); return sqltest.Postgres.Start(t).URL("postgres") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := newQueue(t, start(t))
			holder, h := q.run()
			q.await(h)
			alone, a := q.run()
			q.await(h, a+" exclusive")
			reader, r := q.run("-shared")
			q.await(h, a+" exclusive", r+" shared")
			user, u := q.run("-permits", "2")
			q.await(h, a+" exclusive", r+" shared", u+" permits")

			table, err := q.command("ls").CombinedOutput()
			t.Logf("%s\n$ distlock ls\n%s", name, table)
			const since = ` since [0-9:]{8}\n`
			want := `\norder  exclusive  1     3 +` + h + ` .*\n  waiter 1: ` + a + since +
				`  waiter 2: ` + r + ` \(shared\)` + since + `  waiter 3: ` + u + ` \(one of 2 permits\)` + since + `$`
			if err != nil || !regexp.MustCompile(want).Match(table) {
				t.Errorf("%v, or the table does not match %s", err, want)
			}

			reader.Signal(syscall.SIGTERM)
			if code := reader.Wait(); code == 0 {
				t.Error("a waiter that was ended says that its command has run")
			}
			q.await(h, a+" exclusive", u+" permits")
			q.finish(holder)
			q.await(a, u+" permits")
			q.finish(alone)
			q.await(u)
			q.finish(user)
			q.await("")
		})
	}
}

// queue is the store and the processes of a test.
type queue struct {
	*testing.T

	url    string
	locker *distlock.Locker
}

func newQueue(t *testing.T, url string) *queue {
	t.Helper()
	b, err := backendurl.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	locker := distlock.New(b.Backend, distlock.Config{})
	t.Cleanup(func() {
		if err := errors.Join(locker.Close(), b.Close()); err != nil {
			t.Error(err)
		}
	})
	return &queue{t, url, locker}
}

func (q *queue) command(args ...string) *exec.Cmd {
	c := exec.Command("distlock", args...)
	c.Env = append(os.Environ(), backendEnv+"="+q.url, raceExit)
	return c
}

// run starts a command under the lock, which runs until its input ends. It returns the process,
// and the name that the store has.
func (q *queue) run(flags ...string) (p *testkit.Process, name string) {
	q.Helper()
	host, err := os.Hostname()
	if err != nil {
		q.Fatal(err)
	}
	p = testkit.StartProcess(q, q.command(slices.Concat([]string{"run", "-key", "order"}, flags, []string{"--", "cat"})...))
	return p, fmt.Sprintf("%s/%d", host, p.Cmd.Process.Pid)
}

// finish ends the command of a process.
func (q *queue) finish(p *testkit.Process) {
	q.Helper()
	if p.CloseInput(); p.Wait() != 0 {
		q.Errorf("distlock run: %v\n%s", p.Cmd.ProcessState, p.Stderr())
	}
}

// await waits until the store has this holder, or none, and these waiters in their order, each
// with what it asks for.
func (q *queue) await(holder string, waiters ...string) {
	q.Helper()
	want, got := fmt.Sprint([]string{holder}, waiters), ""
	listed := func() bool {
		found, err := admin.Inspect(q.Context(), q.locker, "order", 1)
		if err != nil {
			q.Fatal(err)
		}
		holders, waiters := []string{""}, []string(nil)
		for _, l := range found {
			for i, h := range l.Holders {
				holders = append(holders[:i], h.Holder)
			}
			for _, w := range l.Waiters {
				waiters = append(waiters, w.Waiter+" "+w.ModeName())
			}
		}
		got = fmt.Sprint(holders, waiters)
		return got == want
	}
	if !child.Within(child.Patience, listed) {
		q.Fatalf("the store has %s, want %s", got, want)
	}
}
