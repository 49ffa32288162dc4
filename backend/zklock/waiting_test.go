package zklock_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/zktest"
)

// TestOneWatch: each session watches one node, however often its waiters look. A
// release wakes one session, the next in order of arrival.
func TestOneWatch(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		g := testkit.MustTry(t, v, testkit.NewRequest("key"))
		holder, sessions, waiters := v, []*virtual(nil), []*testkit.Waiter(nil)
		for range 5 {
			one := newVirtual(t, v.server)
			sessions = append(sessions, one)
			waiters = append(waiters, testkit.StartWaiter(t, one, testkit.NewRequest("key"), testkit.Looks{Every: time.Second}))
			time.Sleep(time.Second)
		}
		for i, w := range waiters {
			for _, later := range waiters[i:] {
				later.MustWait(t)
			}
			time.Sleep(3 * time.Second) // they look
			var set atomic.Int32
			v.server.On(opGetData, func(string) fate { set.Add(1); return served })
			if n := v.server.Watches(); n != len(waiters)-i {
				t.Errorf("%d watches for %d waiters", n, len(waiters)-i)
			}
			testkit.MustRelease(t, holder, g)
			holder, g = sessions[i], w.Served(t)
			if n := v.server.Watches(); n != len(waiters)-i-1 || set.Load() != 0 {
				t.Errorf("the release woke more than one: %d watches are left, and %d are new", n, set.Load())
			}
			v.server.ServeAll()
		}
		testkit.MustRelease(t, holder, g)
		v.mustBeEmpty(t, "key")
	})
}

// TestContainersComeAndGo: a key can be used while the server deletes its node as often
// as it can, which it does when the key is not used any more.
func TestContainersComeAndGo(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t, zktest.Config{Properties: []string{
		"znode.container.checkIntervalMs=1", "znode.container.maxPerMinute=100000000",
	}})
	admin := newAdmin(t, server.Addr())
	var backends []*zklock.Backend
	for range 4 {
		backends = append(backends, newBackend(t, []string{server.Addr()}))
	}
	var r testkit.Register
	for range 10 {
		var wg sync.WaitGroup
		for _, b := range backends {
			wg.Go(func() {
				for range 15 {
					g, err := testkit.Await(t.Context(), b, testkit.NewRequest("key"), testkit.Looks{})
					if err != nil {
						t.Errorf("Acquire: %v", err)
						return
					}
					r.Enter(t, "key", g.Token)
					r.Leave("key", g.Token)
					if err := b.Release(t.Context(), g); err != nil {
						t.Errorf("Release: %v", err)
					}
				}
			})
		}
		wg.Wait()
		testkit.Eventually(t, "the key's node is deleted", func() bool {
			exists, _, err := admin.Exists(parentOf("key"))
			return err == nil && !exists
		})
	}
}
