package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/cmd/backendurl"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/sqltest"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/zktest"
	"github.com/distlock-go/distlock/lockui"
)

// Three processes wait for one that has the lock. The table and the page show them in the order
// in which they came, each with its name and what it asks for, until they leave or are served.
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
			holder := q.run("cat") // it runs until its input ends
			q.await(func(l locksOf) bool { return l.Held == 1 })
			wishes := [][]string{nil, {"-shared"}, {"-permits", "2"}}
			var waiters []*job
			for i, wish := range wishes {
				waiters = append(waiters, q.run("cat", wish...))
				q.await(func(l locksOf) bool { return l.Waiting == i+1 })
			}
			names := make([]string, len(waiters))
			for i, w := range waiters {
				names[i] = w.name
			}

			table, page := q.table(), q.page("/")
			t.Logf("%s\n$ distlock ls\n%s\n$ curl -H 'Accept: application/json' …/locks/\n%s", name, table, page)
			const since = ` since [0-9:]{8}`
			for _, want := range []string{
				`(?m)^order  exclusive  1     3        ` + holder.name + " ",
				"(?m)^  waiting: 1. " + names[0] + since + ", 2. " + names[1] + ` \(shared\)` + since + `,( |\n +)3. ` + names[2] + ` \(one of 2 permits\)` + since + "$",
			} {
				if !regexp.MustCompile(want).MatchString(table) {
					t.Errorf("the table does not match %s", want)
				}
			}
			for _, line := range strings.Split(table, "\n") {
				if strings.HasPrefix(line, " ") && len(line) > queueWidth {
					t.Errorf("%d characters: %s", len(line), line)
				}
			}
			q.want(names, []string{"exclusive", "shared", "permits"})

			waiters[1].leave()
			q.await(func(l locksOf) bool { return l.Waiting == 2 })
			q.want([]string{names[0], names[2]}, []string{"exclusive", "permits"})
			holder.end()
			q.await(func(l locksOf) bool {
				return len(l.Holders) == 1 && l.Holders[0].Holder == names[0] && l.Waiting == 1
			})
			q.want([]string{names[2]}, []string{"permits"})
			waiters[0].end()
			waiters[2].end()
			q.await(func(l locksOf) bool { return l.Held+l.Waiting == 0 })
		})
	}
}

// queue is the store, the page, and the processes of a test.
type queue struct {
	*testing.T

	url string
	ui  *lockui.Handler
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
	return &queue{t, url, lockui.New(locker)}
}

func (q *queue) command(args ...string) *exec.Cmd {
	c := exec.CommandContext(context.WithoutCancel(q.Context()), "distlock", args...)
	c.Env = append(os.Environ(), backendEnv+"="+q.url, raceExit)
	return c
}

// job is a distlock run.
type job struct {
	name string // that the store has
	end  func() // ends the input of its command, and waits for it
	// leave sends it a signal, and waits for it.
	leave func()
}

// run starts a program under the lock.
func (q *queue) run(program string, flags ...string) *job {
	q.Helper()
	c := q.command(append(append([]string{"run", "-key", "order"}, flags...), "--", program)...)
	var output bytes.Buffer
	c.Stderr = &output
	input, err := c.StdinPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		q.Fatal(err)
	}
	host, err := os.Hostname()
	if err != nil {
		q.Fatal(err)
	}
	ended := false
	wait := func(wantErr bool) {
		q.Helper()
		if err := c.Wait(); !ended && (err != nil) != wantErr {
			q.Errorf("distlock run: %v\n%s", err, &output)
		}
		ended = true
	}
	q.Cleanup(func() {
		if !ended {
			_ = c.Process.Kill() // after a failure
			_ = c.Wait()
		}
	})
	return &job{
		name:  fmt.Sprintf("%s/%d", host, c.Process.Pid),
		end:   func() { q.Helper(); _ = input.Close(); wait(false) },
		leave: func() { q.Helper(); _ = c.Process.Signal(syscall.SIGTERM); wait(true) },
	}
}

// table returns what distlock ls prints.
func (q *queue) table() string {
	q.Helper()
	out, err := q.command("ls").CombinedOutput()
	if err != nil {
		q.Fatalf("distlock ls: %v\n%s", err, out)
	}
	return string(out)
}

// page returns the locks that the page shows.
func (q *queue) page(path string) string {
	q.Helper()
	r := httptest.NewRequestWithContext(q.Context(), "GET", path, nil)
	r.Header.Set("Accept", "application/json")
	w := httptest.NewRecorder()
	q.ui.ServeHTTP(w, r)
	var indented bytes.Buffer
	if err := json.Indent(&indented, w.Body.Bytes(), "", " "); err != nil {
		q.Fatalf("the page: %v\n%s", err, w.Body)
	}
	return indented.String()
}

// locksOf is what the page shows of one key.
type locksOf struct {
	Held    int                             `json:"held"`
	Waiting int                             `json:"waiting"`
	Holders []struct{ Holder string }       `json:"holders"`
	Waiters []struct{ Waiter, Mode string } `json:"waiters"`
}

func (q *queue) look() locksOf {
	q.Helper()
	var l struct{ Locks []locksOf }
	if err := json.Unmarshal([]byte(q.page("/key?name=order")), &l); err != nil || len(l.Locks) != 1 {
		q.Fatalf("the page: %v\n%+v", err, l)
	}
	return l.Locks[0]
}

func (q *queue) await(is func(locksOf) bool) {
	q.Helper()
	testkit.Eventually(q.T, "the page shows it", func() bool { return is(q.look()) })
}

// want checks who waits, and for what.
func (q *queue) want(names, wishes []string) {
	q.Helper()
	var gotNames, gotWishes []string
	for _, w := range q.look().Waiters {
		gotNames, gotWishes = append(gotNames, w.Waiter), append(gotWishes, w.Mode)
	}
	if fmt.Sprint(gotNames, gotWishes) != fmt.Sprint(names, wishes) {
		q.Errorf("%q wait for %q, want %q for %q", gotNames, gotWishes, names, wishes)
	}
}
