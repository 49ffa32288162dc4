package zklock_test

import (
	"context"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/uuid"

	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/spoilnet"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
	"github.com/distlock-go/distlock/internal/test/zktest"
)

// counted returns a Backend, the network of its connections, and the number of requests
// that it has sent.
func counted(tb testing.TB, addr string, opts ...zklock.Option) (*zklock.Backend, *spoilnet.Network, *atomic.Int64) {
	tb.Helper()
	n, requests := new(spoilnet.Network), new(atomic.Int64)
	b := newBackend(tb, []string{addr}, append(opts, zklock.WithDialer(func(network, address string, timeout time.Duration) (net.Conn, error) {
		c, err := n.DialTimeout(network, address, timeout)
		return countingConn{c, requests}, err
	}))...)
	return b, n, requests
}

// countingConn counts the packets that the client library writes, one at a time.
type countingConn struct {
	net.Conn
	packets *atomic.Int64
}

func (c countingConn) Write(p []byte) (int, error) {
	c.packets.Add(1)
	return c.Conn.Write(p)
}

// learn lets b take and release a key until that takes two requests: b no longer reads the
// queue. It returns the number that the next node gets.
func learn(t *testing.T, b *zklock.Backend, requests *atomic.Int64, admin *zk.Conn, key string) (next int) {
	t.Helper()
	keepParent(t, admin, key)
	testkit.Eventually(t, "it does not read the queue", func() bool {
		before := requests.Load()
		testkit.MustRelease(t, b, testkit.MustTry(t, b, testkit.NewRequest(key)))
		return requests.Load()-before == 2
	})
	g := testkit.MustTry(t, b, testkit.NewRequest(key))
	name := children(t, admin, parentOf(key))[0]
	next, err := strconv.Atoi(name[len(name)-10:])
	if err != nil {
		t.Fatal(err)
	}
	testkit.MustRelease(t, b, g)
	return next + 1
}

// restart deletes the node of a key and creates it again. Another program then takes the
// key with the last node before the given number.
func restart(t *testing.T, admin *zk.Conn, key string, next int) {
	t.Helper()
	if err := admin.Delete(parentOf(key), -1); err != nil {
		t.Fatal(err)
	}
	keepParent(t, admin, key)
	for n := range next {
		node, err := admin.Create(parentOf(key)+"/_c_"+uuid.NewString()+"-lock-", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
		if err != nil {
			t.Fatal(err)
		}
		if n == next-1 {
			return
		}
		if err := admin.Delete(node, -1); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCounterRestarts: a process has taken a key so often that it does not read the queue.
// The key's node is deleted and created again, and another program has the key. The next
// node of the process has the number that it would have had before, and still waits.
func TestCounterRestarts(t *testing.T) {
	t.Parallel()
	addr := shared.Server(t).Addr()
	admin := newAdmin(t, addr)
	for _, c := range []struct {
		key     string
		restart func(t *testing.T, n *spoilnet.Network, key string, next int)
	}{
		{"restarts", func(t *testing.T, _ *spoilnet.Network, key string, next int) {
			t.Helper()
			restart(t, admin, key, next)
		}},
		{"restarts-after-a-change", func(t *testing.T, _ *spoilnet.Network, key string, next int) {
			t.Helper()
			if _, err := admin.Set(parentOf(key), []byte("changed"), -1); err != nil {
				t.Fatal(err)
			}
			restart(t, admin, key, next)
		}},
		{"restarts-without-a-connection", func(t *testing.T, n *spoilnet.Network, key string, next int) {
			t.Helper()
			n.Refuse(true)
			n.Kill()
			restart(t, admin, key, next)
			n.Refuse(false)
		}},
	} {
		t.Run(c.key, func(t *testing.T) {
			t.Parallel()
			b, n, requests := counted(t, addr)
			next := learn(t, b, requests, admin, c.key)
			c.restart(t, n, c.key, next)
			testkit.MustBeBusy(t, b, c.key)
			name := children(t, admin, parentOf(c.key))[0]
			if err := admin.Delete(parentOf(c.key)+"/"+name, -1); err != nil {
				t.Fatal(err)
			}
			learn(t, b, requests, admin, c.key)
		})
	}
}

// TestCounterOfAnother: a process has taken a key so often that it does not read the queue.
// Then another process takes the key. The first one waits.
func TestCounterOfAnother(t *testing.T) {
	t.Parallel()
	addr := shared.Server(t).Addr()
	admin := newAdmin(t, addr)
	b, _, requests := counted(t, addr)
	other := newBackend(t, []string{addr})
	const key = "counter-of-another"
	learn(t, b, requests, admin, key)
	g := testkit.MustTry(t, other, testkit.NewRequest(key))
	testkit.MustBeBusy(t, b, key)
	testkit.MustRelease(t, other, g)
	learn(t, b, requests, admin, key)
}

// TestCounterOfReaders: the second of two readers releases the key. The next node waits
// for the first.
func TestCounterOfReaders(t *testing.T) {
	t.Parallel()
	addr := shared.Server(t).Addr()
	admin := newAdmin(t, addr)
	b, _, requests := counted(t, addr)
	const key = "counter-of-readers"
	learn(t, b, requests, admin, key)
	reader := testkit.NewRequest(key)
	reader.Mode = driver.Shared
	first := testkit.MustTry(t, b, reader)
	reader.Owner = uuid.NewString()
	testkit.MustRelease(t, b, testkit.MustTry(t, b, reader))
	w := testkit.StartWaiter(t, b, testkit.NewRequest(key))
	testkit.Eventually(t, "it is in the queue", func() bool { return len(children(t, admin, parentOf(key))) == 2 })
	drain(t, b)
	w.MustWait(t)
	testkit.MustRelease(t, b, first)
	testkit.MustRelease(t, b, w.Served(t))
}

// TestCounterNeedsWatch: without a watch a process does not know whether the key's node has
// been deleted.
func TestCounterNeedsWatch(t *testing.T) {
	t.Parallel()
	for _, watched := range []bool{false, true} {
		if got := zklock.KnowsNext(watched); got != watched {
			t.Errorf("watch %v: it knows the next node: %v", watched, got)
		}
	}
}

// TestCountersAreBounded: many keys do not need much memory.
func TestCountersAreBounded(t *testing.T) {
	t.Parallel()
	if n := zklock.CountersOf(zklock.MaxCounters + 10); n != zklock.MaxCounters {
		t.Errorf("%d counters", n)
	}
}

// TestCountersComeAndGo: processes use a key several times and then pause. The server
// deletes the key's node as soon as it is empty.
func TestCountersComeAndGo(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	addr := zktest.Start(t, zktest.Config{Properties: []string{
		"znode.container.checkIntervalMs=1", "znode.container.maxPerMinute=100000000",
	}}).Addr()
	var r testkit.Register
	var wg sync.WaitGroup
	for i := range 3 {
		b := newBackend(t, []string{addr})
		wg.Go(func() {
			for n := range 1500 {
				g, err := b.Acquire(context.Background(), testkit.NewRequest("key"))
				if err != nil {
					t.Errorf("Acquire: %v", err)
					return
				}
				r.Enter(t, "key", g.Token)
				r.Leave("key", g.Token)
				if err := b.Release(context.Background(), g); err != nil {
					t.Errorf("Release: %v", err)
				}
				if n%(4+i) == 0 {
					time.Sleep(time.Duration(n%7) * time.Millisecond)
				}
			}
		})
	}
	wg.Wait()
}
