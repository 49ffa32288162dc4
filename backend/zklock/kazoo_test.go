package zklock_test

import (
	"errors"
	"os/exec"
	"testing"

	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/child"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// startKazoo starts a program in Python that takes locks with kazoo. Debian's package is for
// Debian's Python, which need not be the first in PATH.
func startKazoo(t *testing.T, addr string) *peer {
	t.Helper()
	var err error
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		if err = exec.Command(python, "-c", "import kazoo").Run(); err == nil {
			return startPeer(t, exec.Command(python, "testdata/kazoo_peer.py", addr))
		}
	}
	child.Need(t, child.Missing("zklock: needs Python with kazoo, as in Debian's python3-kazoo", err))
	return nil
}

// TestKazoo: with WithKazooNames, kazoo's locks and this package share one queue.
func TestKazoo(t *testing.T) {
	t.Parallel()
	addr := shared.Server(t).Addr()
	admin := newAdmin(t, addr)
	c := startKazoo(t, addr)
	b := newBackend(t, []string{addr}, zklock.WithKazooNames())
	const key = "kazoo"
	path := parentOf(key)
	waiting := func(n int) {
		t.Helper()
		testkit.Eventually(t, "it is in the queue", func() bool { return len(children(t, admin, path)) == n })
	}

	g := testkit.MustTry(t, b, testkit.NewRequest(key))
	c.must("false", "try", "Lock", path)
	c.send("acquire", "Lock", path)
	waiting(2)
	behind := testkit.StartWaiter(t, b, testkit.NewRequest(key))
	waiting(3)
	if got := testkit.Renewed(t, b, g); got.Status != driver.Renewed {
		t.Errorf("a renewal before a lock of kazoo that waits: %+v", got)
	}
	testkit.MustRelease(t, b, g)
	if got := c.answer(); got != "true" {
		t.Errorf("kazoo's lock behind ours: %s", got)
	}
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
	waiting(2)
	w.MustWait(t)
	c.must("released", "release", "ReadLock", path)
	testkit.MustRelease(t, b, w.Served(t))
}

// TestKazooIsForeign: with other names kazoo's locks do not see ours, and are refused.
//
// Row 22 (zklock): a lock of kazoo that does not see ours is ErrForeign. Fails if a name of
// kazoo is not known.
func TestKazooIsForeign(t *testing.T) {
	t.Parallel()
	addr := shared.Server(t).Addr()
	c := startKazoo(t, addr)
	b := newBackend(t, []string{addr})
	for _, kind := range []string{"Lock", "WriteLock", "ReadLock"} {
		key := "foreign-kazoo-" + kind
		g := testkit.MustTry(t, b, testkit.NewRequest(key))
		c.must("true", "try", kind, parentOf(key))
		if got := testkit.Renewed(t, b, g); got.Status != driver.Lost || !errors.Is(got.Err, driver.ErrForeign) {
			t.Errorf("renewal beside kazoo's %s: %+v", kind, got)
		}
		_, err := b.TryAcquire(t.Context(), testkit.NewRequest(key))
		wantForeign(t, err, "kazoo")
		w := testkit.StartWaiter(t, b, testkit.NewRequest(key))
		watched(t, parentOf(key)+"/")
		c.must("released", "release", kind, parentOf(key))
		testkit.MustRelease(t, b, w.Served(t))
	}
}
