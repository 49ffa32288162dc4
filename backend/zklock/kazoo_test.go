package zklock_test

import (
	"os/exec"
	"testing"

	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/child"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/zktest"
)

// kazoo is a program in Python that takes locks with kazoo. It reads lines with a verb,
// a kind of lock and a path, and answers each with a line.
type kazoo struct{ *testkit.Process }

// startKazoo starts the program. Debian's package is for Debian's Python, which need
// not be the first in PATH.
func startKazoo(t *testing.T, addr string) kazoo {
	t.Helper()
	var err error
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		if err = exec.Command(python, "-c", "import kazoo").Run(); err == nil {
			c := kazoo{testkit.StartProcess(t, exec.Command(python, "testdata/kazoo_peer.py", addr))}
			c.Hear("ready")
			return c
		}
	}
	child.Need(t, child.Missing("zklock: needs Python with kazoo, as in Debian's python3-kazoo", err))
	return kazoo{}
}

func (c kazoo) must(want, verb, kind, path string) {
	c.Tell(verb, kind, path)
	c.Hear(want)
}

// TestKazoo: with KazooNames, kazoo's locks and this package share one queue.
func TestKazoo(t *testing.T) {
	t.Parallel()
	addr := zktest.Shared(t).Addr()
	admin := newAdmin(t, addr)
	c := startKazoo(t, addr)
	b := newBackend(t, []string{addr}, zklock.Config{Names: zklock.KazooNames})
	const key = "kazoo"
	path := parentOf(key)
	g := testkit.MustTry(t, b, testkit.NewRequest(key))
	c.must("false", "try", "Lock", path)
	c.Tell("acquire", "Lock", path)
	queued(t, admin, key, 2)
	behind := testkit.StartWaiter(t, b, testkit.NewRequest(key))
	queued(t, admin, key, 3)
	testkit.MustRenew(t, b, g)
	testkit.MustRelease(t, b, g)
	c.Hear("true")
	behind.MustWait(t)
	infos, err := b.Inspect(t.Context(), key, 1)
	if err != nil || len(infos) != 1 || infos[0].Holders[0].Holder != "a-snake" || infos[0].Waiting != 1 {
		t.Errorf("Inspect of a lock of kazoo: %+v, %v", infos, err)
	}
	testkit.MustBeBusy(t, b, key)
	c.must("released", "release", "Lock", path)
	testkit.MustRelease(t, b, behind.Served(t))

	reader := testkit.NewRequest(key)
	reader.Mode = driver.Shared
	g = testkit.MustTry(t, b, reader)
	c.must("true", "try", "ReadLock", path)
	c.must("false", "try", "WriteLock", path)
	testkit.MustBeBusy(t, b, key)
	testkit.MustRelease(t, b, g)
	w := testkit.StartWaiter(t, b, testkit.NewRequest(key))
	queued(t, admin, key, 2)
	w.MustWait(t)
	c.must("released", "release", "ReadLock", path)
	testkit.MustRelease(t, b, w.Served(t))
}
