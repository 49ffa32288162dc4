package zklock_test

import (
	"context"
	"net"
	"os/exec"
	"testing"

	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/child"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
	"github.com/distlock-go/distlock/internal/test/zktest"
)

// startCurator starts a program in Java that takes locks with Curator's recipes.
func startCurator(t *testing.T, addr string) *peer {
	t.Helper()
	java, path, err := zktest.ClassPath("curator-recipes", "curator-framework", "curator-client", "zookeeper", "guava", "slf4j-api", "slf4j-nop")
	child.Need(t, err)
	return startPeer(t, exec.Command(java, "-Xmx128m", "-XX:TieredStopAtLevel=1", "-cp", path, "testdata/Curator.java", addr))
}

// TestCurator: Curator's recipes and this package share locks and one queue. Recipes that do
// not see the nodes of this package are refused, and end the lease of a holder.
func TestCurator(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	addr := shared.Server(t).Addr()
	c := startCurator(t, addr)
	observer := newBackend(t, []string{addr})
	admin := newAdmin(t, addr)
	waiting := func(path string, n int) {
		t.Helper()
		testkit.Eventually(t, "Curator is in the queue", func() bool { return len(children(t, admin, path)) == n })
	}

	t.Run("InterProcessMutex", func(t *testing.T) {
		b := newBackend(t, []string{addr})
		key := "curator"
		path := parentOf(key)
		g := testkit.MustTry(t, b, testkit.NewRequest(key))
		c.must("false", "try", "mutex", path)
		testkit.MustRelease(t, b, g)
		c.must("true", "try", "mutex", path)
		testkit.MustBeBusy(t, b, key)
		// Curator writes its address into its node.
		infos, err := observer.Inspect(context.Background(), key, 1)
		if err != nil || len(infos) != 1 || net.ParseIP(infos[0].Holders[0].Holder) == nil {
			t.Errorf("Inspect of a lock of Curator: %+v, %v", infos, err)
		}
		w := testkit.StartWaiter(t, b, testkit.NewRequest(key))
		waiting(path, 2)
		w.MustWait(t)
		c.must("released", "release", "mutex", path)
		g = w.Served(t)
		c.send("acquire", "mutex", path)
		waiting(path, 2)
		behind := testkit.StartWaiter(t, b, testkit.NewRequest(key))
		waiting(path, 3)
		testkit.MustRelease(t, b, g)
		if got := c.answer(); got != "true" {
			t.Errorf("Curator in the queue: %s", got)
		}
		behind.MustWait(t)
		c.must("released", "release", "mutex", path)
		testkit.MustRelease(t, b, behind.Served(t))
	})
	t.Run("Revoker", func(t *testing.T) {
		b := newBackend(t, []string{addr})
		key := "curator-revoker"
		path := parentOf(key)
		g := testkit.MustTry(t, b, testkit.NewRequest(key))
		asked := b.Revoked(context.Background(), g)
		c.must("asked", "revoke", "mutex", path)
		mustBeAsked(t, asked)
		testkit.MustRelease(t, b, g)
		c.must("true", "try", "revocable", path)
		if held, err := observer.Revoke(context.Background(), key); !held || err != nil {
			t.Errorf("Revoke of a lock of Curator: %v, %v", held, err)
		}
		if got := c.answer(); got != "revoked" {
			t.Errorf("Curator's listener: %s", got)
		}
		c.must("released", "release", "revocable", path)
	})
	t.Run("InterProcessReadWriteLock", func(t *testing.T) {
		b := newBackend(t, []string{addr}, zklock.WithReadWriteNames())
		key := "curator-rw"
		path := parentOf(key)
		reader := testkit.NewRequest(key)
		reader.Mode = driver.Shared
		r := testkit.MustTry(t, b, reader)
		c.must("true", "try", "read", path)
		c.must("false", "try", "write", path)
		testkit.MustBeBusy(t, b, key)
		testkit.MustRelease(t, b, r)
		testkit.MustBeBusy(t, b, key)
		writer := testkit.StartWaiter(t, b, testkit.NewRequest(key))
		waiting(path, 2)
		c.must("released", "release", "read", path)
		w := writer.Served(t)
		c.must("false", "try", "read", path)
		c.must("false", "try", "write", path)
		late := testkit.NewRequest(key)
		late.Mode = driver.Shared
		testkit.MustRelease(t, b, w)
		c.must("true", "try", "write", path)
		behind := testkit.StartWaiter(t, b, late)
		waiting(path, 2)
		behind.MustWait(t)
		testkit.MustBeBusy(t, b, key)
		c.must("released", "release", "write", path)
		testkit.MustRelease(t, b, behind.Served(t))
	})
	for kind, recipe := range map[string]string{
		"write": "InterProcessReadWriteLock", "latch": "ephemeral node", "semaphore": "InterProcessSemaphoreV2",
	} {
		t.Run("foreign "+kind, func(t *testing.T) {
			key := "curator-foreign-" + kind
			g := testkit.MustTry(t, observer, testkit.NewRequest(key))
			c.must("true", "acquire", kind, parentOf(key))
			got := testkit.Renewed(t, observer, g)
			if got.Status != driver.Lost {
				t.Errorf("renewal after Curator has come: %+v", got)
			}
			wantForeign(t, got.Err, recipe)
			_, err := observer.TryAcquire(t.Context(), testkit.NewRequest(key))
			wantForeign(t, err, recipe)
			c.must("released", "release", kind, parentOf(key))
		})
	}
}
