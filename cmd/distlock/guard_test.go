//go:build unix

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

const guardLease = 10 * time.Second

// guarded is a command in virtual time: what guard does to it is recorded, with the time
// since the start.
type guarded struct {
	*testing.T
	g       *guard
	store   *testkit.Store
	start   time.Time
	changes chan change
	signals chan os.Signal
	deaf    bool          // it ignores SIGTERM
	stops   time.Duration // how long suspend takes
	left    bool          // the command has ended
	dead    atomic.Bool   // the whole group has
	log     []string
	said    strings.Builder // to stderr
}

func (c *guarded) record(what string) {
	c.log = append(c.log, fmt.Sprintf("%s %.1fs", what, time.Since(c.start).Seconds()))
}

func (c *guarded) terminate() {
	c.record("TERM")
	if !c.deaf {
		c.end(143)
	}
}

func (c *guarded) kill() { c.record("KILL"); c.end(137) }

// end ends the whole group; leave ends the command, and its children stay.
func (c *guarded) end(code int) { c.leave(code); c.dead.Store(true) }

func (c *guarded) leave(code int) {
	if !c.left {
		c.left = true
		c.changes <- change{ended: true, code: code}
	}
}

func (c *guarded) gone() bool { return c.dead.Load() }

func (c *guarded) pass(s os.Signal) { c.record(fmt.Sprint(s)) }

func (c *guarded) suspend(syscall.Signal) bool { time.Sleep(c.stops); return true }

func (c *guarded) resume() { c.record("resume") }

// held returns a lease, and its store.
func held(t *testing.T) (*testkit.Store, *distlock.Lease) {
	t.Helper()
	store := testkit.NewStore()
	return store, testkit.MustAcquire(t, testkit.NewLocker(t, store, distlock.Config{HandOverTime: -1}), "deploy", distlock.Opts{KeyTimeout: guardLease})
}

// guarding runs what the test prepares under a guard. It returns the exit code, the reason
// why the command was stopped, and what was recorded.
func guarding(t *testing.T, onLost string, prepare func(c *guarded)) (code int, log string, lost error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		store, lease := held(t)
		c := &guarded{T: t, store: store, start: time.Now(), changes: make(chan change, 1), signals: make(chan os.Signal, 16)}
		r := &runner{stderr: &c.said, onLost: onLost, grace: 2500 * time.Millisecond, opts: distlock.Opts{KeyTimeout: guardLease}}
		c.g = r.guard(lease, c, c.changes)
		prepare(c)
		c.after(time.Hour, func() { c.end(99) }) // a guard that forgets to act does not hang
		code, lost = c.g.watch(c.signals)
		log = strings.Join(c.log, ", ")
		want := map[bool]string{true: "the command is stopped", false: "the command continues without its lock"}[lost != nil]
		if n := strings.Count(c.said.String(), want); (n == 1) != (c.g.lost != nil) {
			t.Errorf("said %q", &c.said)
		}
	})
	return code, log, lost
}

// A lease that a message granted is short at first. The command gets a whole one, and is
// not stopped before the watchdog has renewed it.
func TestCommandGetsAWholeLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := testkit.NewStore()
		store.ShortAtFirst(300 * time.Millisecond)
		lease := testkit.MustAcquire(t, testkit.NewLocker(t, store, distlock.Config{}), "deploy", distlock.Opts{KeyTimeout: guardLease})
		refreshShort(lease, guardLease)
		if left := time.Until(lease.Until()); left < guardLease*9/10 {
			t.Errorf("%v are left", left)
		}
	})
}

// after does something when the time has passed, while the guard watches.
func (c *guarded) after(d time.Duration, f func()) { time.AfterFunc(d, f) }

// The lease of 10 s ends after 9.9 s without a renewal, of which 1 s is for dying.
func TestGuard(t *testing.T) {
	hang := func(c *guarded) { c.store.Hang(testkit.Renew) }
	for name, c := range map[string]struct {
		onLost  string
		prepare func(c *guarded)
		code    int
		lost    bool
		log     string
	}{
		"the command ends":                 {onLostKill, func(c *guarded) { c.after(time.Minute, func() { c.end(3) }) }, 3, false, ""},
		"the store hangs: kill":            {onLostKill, hang, exitLost, true, "KILL 8.9s"},
		"the store hangs: term":            {onLostTerm, hang, exitLost, true, "TERM 6.4s"},
		"the store hangs: term is ignored": {onLostTerm, func(c *guarded) { hang(c); c.deaf = true }, exitLost, true, "TERM 6.4s, KILL 8.9s"},
		"taken away: kill":                 {onLostKill, func(c *guarded) { c.after(time.Second, func() { c.store.Steal(t, "deploy") }) }, exitLost, true, `KILL 3\.[0-3]s`},
		"taken away: term":                 {onLostTerm, func(c *guarded) { c.deaf = true; c.after(time.Second, func() { c.store.Steal(t, "deploy") }) }, exitLost, true, `TERM 3\.[0-3]s, KILL 5\.[5-8]s`},
		"lost, and ignored":                {onLostIgnore, func(c *guarded) { hang(c); c.after(time.Minute, func() { c.end(0) }) }, exitOK, false, ""},
		"signals are forwarded": {onLostKill, func(c *guarded) {
			c.after(time.Second, func() { c.signals <- syscall.SIGINT })
			c.after(2*time.Second, func() { c.end(130) })
		}, 130, false, "interrupt 1.0s"},
		"lost while stopped by the terminal": {onLostKill, func(c *guarded) {
			c.stops = time.Minute
			c.after(time.Second, func() { hang(c); c.changes <- change{stopped: syscall.SIGTERM} })
		}, exitLost, true, "KILL 61.0s, resume 61.0s"},
		"stopped by the terminal until late": {onLostTerm, func(c *guarded) {
			c.deaf, c.stops = true, 7*time.Second
			c.after(time.Second, func() { hang(c); c.changes <- change{stopped: syscall.SIGTERM} })
		}, exitLost, true, "TERM 8.0s, resume 8.0s, KILL 8.9s"},
		"stopped by itself when asked to end": {onLostTerm, func(c *guarded) {
			hang(c)
			c.deaf, c.stops = true, time.Minute
			c.after(7*time.Second, func() { c.changes <- change{stopped: syscall.SIGTERM} })
		}, exitLost, true, "TERM 6.4s, resume 7.0s, KILL 8.9s"},
		"stopped for long, and then a signal": {onLostTerm, func(c *guarded) {
			hang(c)
			c.deaf = true
			warn := c.g.warn
			c.g.warn = func(format string, args ...any) {
				warn(format, args...)
				time.Sleep(4 * time.Second)
				c.signals <- syscall.SIGCONT
			}
		}, exitLost, true, "TERM 10.4s, KILL 10.4s(, continued 10.4s)?"},
		"children that end when asked": {onLostKill, func(c *guarded) { c.after(time.Second, func() { c.leave(4) }) }, 4, false, "TERM 1.1s"},
		"children that are deaf": {onLostKill, func(c *guarded) {
			c.deaf = true
			c.after(time.Second, func() { c.leave(4) })
		}, 4, false, "TERM 1.1s, KILL 3.6s"},
		"deaf children, and the store hangs": {onLostKill, func(c *guarded) {
			hang(c)
			c.deaf = true
			c.after(8*time.Second, func() { c.leave(4) })
		}, exitLost, true, "TERM 8.1s, KILL 8.9s"},
		"asked back": {onLostKill, func(c *guarded) {
			asked := make(chan struct{})
			c.g.revoked = asked
			c.after(time.Second, func() { close(asked) })
		}, 143, false, "TERM 1.0s"},
	} {
		t.Run(name, func(t *testing.T) {
			for range 8 { // of two events at one moment, either may come first
				code, log, lost := guarding(t, c.onLost, c.prepare)
				if code != c.code || (lost != nil) != c.lost || !regexp.MustCompile("^"+c.log+"$").MatchString(log) {
					t.Errorf("exit code %d, %v, %q; want %d, %v, %q", code, lost, log, c.code, c.lost, c.log)
				}
			}
		})
	}
}

// The command gets the key and the token of its lease, and not the URL of the store.
func TestEnvironment(t *testing.T) {
	t.Setenv(backendEnv, "redis://:secret@h:1/0")
	synctest.Test(t, func(t *testing.T) {
		_, lease := held(t)
		env := environment(lease)
		for _, v := range []string{"DISTLOCK_KEY=deploy", fmt.Sprint("DISTLOCK_TOKEN=", lease.Token())} {
			if !slices.Contains(env, v) {
				t.Errorf("%s is not in %q", v, env)
			}
		}
		if strings.Contains(strings.Join(env, "\n"), backendEnv) {
			t.Errorf("%s is in %q", backendEnv, env)
		}
	})
}

// The end of the command and the release decide on the exit code.
func TestLossAtTheRelease(t *testing.T) {
	for _, c := range []struct {
		onLost           string
		steal            bool
		fail             error
		code, want, warn int
	}{
		{onLostKill, false, nil, 0, 0, 0}, {onLostKill, false, nil, 3, 3, 0}, {onLostKill, true, nil, 0, exitLost, 1}, {onLostKill, true, nil, 3, 3, 1},
		{onLostTerm, true, nil, 0, exitLost, 1}, {onLostIgnore, true, nil, 0, 0, 1}, {onLostKill, false, testkit.ErrSilent, 3, 3, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			store, lease := held(t)
			if c.steal {
				store.Steal(t, "deploy")
			}
			var out strings.Builder
			store.Fail(c.fail, testkit.Release)
			defer store.Fail(nil)
			r := &runner{stderr: &out, key: "deploy", onLost: c.onLost}
			if code := r.giveBack(t.Context(), lease, c.code, nil); code != c.want || strings.Count(out.String(), "\n") != c.warn {
				t.Errorf("%+v: exit code %d, said %q", c, code, out.String())
			}
		})
	}
}

// Nothing starts under a lock that is lost already, and the exit code says that it may be
// repeated.
func TestNoCommandUnderALostLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, lease := held(t)
		store.Steal(t, "deploy")
		<-lease.Context().Done()
		r := &runner{stderr: &strings.Builder{}, key: "deploy", path: "/nowhere/command", argv: []string{"command"}}
		if code, lost := r.underLock(lease, nil); code != exitUnavailable || lost == nil {
			t.Errorf("exit code %d, %v", code, lost)
		}
	})
}

// A signal that comes together with the lock leaves no lock behind.
func TestSignalTogetherWithTheLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := testkit.NewStore()
		locker := testkit.NewLocker(t, store, distlock.Config{Hooks: distlock.Hooks{
			Event: testkit.On{
				distlock.Acquired: func(context.Context, distlock.Event) { time.Sleep(time.Second) },
			}.Event,
		}})
		signals := make(chan os.Signal, 1)
		time.AfterFunc(time.Second/2, func() { signals <- syscall.SIGTERM })
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		r := &runner{stderr: &strings.Builder{}, key: "deploy"}
		_, err := r.acquire(ctx, cancel, locker, signals)
		if code, silent := exitCode(err); code != exitSignal+number(syscall.SIGTERM) || !silent {
			t.Errorf("exit code %d, %v", code, err)
		}
		if !store.Free(t, "deploy") {
			t.Error("the key is held")
		}
	})
}

// A handle that nobody reads leaves no lock behind; a release that is killed half-way, a short one.
func TestClaimWithoutAReader(t *testing.T) {
	store := testkit.NewStore()
	out := os.NewFile(uintptr(1<<20), os.Stdout.Name()) // writing to it fails
	r := &runner{stderr: io.Discard, key: "deploy", opts: distlock.Opts{KeyTimeout: time.Minute}}
	err := r.claim(t.Context(), testkit.NewLocker(t, store, distlock.Config{}), out, false)
	if code, _ := exitCode(err); code != exitOS || !store.Free(t, "deploy") {
		t.Errorf("exit code %d, %v; the key is free: %v", code, err, store.Free(t, "deploy"))
	}
	if got := store.Calls(testkit.Release); len(got) != 1 || got[0].Grants[0].TTL != distlock.DefaultKeyTimeout {
		t.Errorf("released %+v", got)
	}
}
