package zklock_test

import (
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/zktest"
)

// TestOrderOfArrival: fifteen sessions get one key in the order in which they asked for
// it, and each release wakes one of them.
func TestOrderOfArrival(t *testing.T) {
	t.Parallel()
	const contenders = 15
	// The test counts the server's watches, so it has a server of its own.
	server := zktest.Start(t, zktest.Config{})
	addr := []string{server.Addr()}
	admin := newAdmin(t, server.Addr())
	holder := newBackend(t, addr)
	g := testkit.MustTry(t, holder, testkit.NewRequest("key"))
	var waiters []*testkit.Waiter
	var backends []*zklock.Backend
	for i := range contenders {
		b := newBackend(t, addr)
		backends = append(backends, b)
		waiters = append(waiters, testkit.StartWaiter(t, b, testkit.NewRequest("key")))
		queued(t, admin, "key", i+2)
	}
	watching := func() int64 { return metric(t, server, "zk_watch_count") }
	testkit.Eventually(t, "all of them watch", func() bool { return watching() == contenders })
	fired := func() int64 { return metric(t, server, "zk_sum_node_deleted_watch_count") }
	var order testkit.Register
	for i, w := range waiters {
		for _, later := range waiters[i:] {
			later.MustWait(t)
		}
		before := fired()
		if i == 0 {
			testkit.MustRelease(t, holder, g)
		} else {
			testkit.MustRelease(t, backends[i-1], waiters[i-1].Got)
		}
		g := w.Served(t)
		order.Enter(t, "key", g.Token)
		order.Leave("key", g.Token)
		// The server counts an event when it has sent it.
		testkit.Eventually(t, "the event is counted", func() bool { return fired() > before })
		if n := fired() - before; n != 1 {
			t.Errorf("release %d woke %d waiters", i+1, n)
		}
		if left := watching(); left != int64(contenders-1-i) {
			t.Errorf("after release %d there are %d watches for %d waiters", i+1, left, contenders-1-i)
		}
	}
	testkit.MustRelease(t, backends[contenders-1], waiters[contenders-1].Got)
	mustBeEmpty(t, admin, "key")
}

// TestOneWatchForMany: if many callers of one Backend wait for the same node and look
// often, the server has one watch.
func TestOneWatchForMany(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t, zktest.Config{})
	admin := newAdmin(t, server.Addr())
	b := newBackend(t, []string{server.Addr()})
	g := testkit.MustTry(t, b, testkit.NewRequest("key"))
	var waiters []*testkit.Waiter
	for range 20 {
		r := testkit.NewRequest("key")
		r.Mode = driver.Shared
		waiters = append(waiters, testkit.StartWaiter(t, b, r, testkit.Looks{Every: 2 * time.Millisecond}))
	}
	queued(t, admin, "key", 21)
	reads := func() int64 { return metric(t, server, "zk_packets_received") }
	for start := reads(); reads() < start+500; { // they look again and again
		if n := metric(t, server, "zk_watch_count"); n > 1 {
			t.Fatalf("%d watches for one node", n)
		}
	}
	testkit.MustRelease(t, b, g)
	for _, w := range waiters {
		testkit.MustRelease(t, b, w.Served(t))
	}
}

// TestContainersComeAndGo: a key can be used while the server deletes its node as often as
// it can, which it does when the key is not used any more.
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
