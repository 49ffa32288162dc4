package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

func loadKeys(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprint("all:", i)
	}
	return keys
}

func clusterLoad(t *testing.T, c *redistest.Cluster, keys []string) *load {
	t.Helper()
	return newLoad(t, keys, redistest.ClusterClient(t, c.Servers()), redistest.ClusterClient(t, c.Servers()), redistest.ClusterClient(t, c.Servers()))
}

// left returns the keys of the servers, without clocks and tombstones.
func left(servers ...*redistest.Server) (keys []string) {
	for _, s := range servers {
		c := redis.NewClient(&redis.Options{Addr: s.Addr()})
		for _, k := range c.Keys(context.Background(), "*").Val() {
			if !strings.HasPrefix(k, clockKey) && !strings.HasSuffix(k, "}:gone") {
				keys = append(keys, k)
			}
		}
		_ = c.Close()
	}
	return keys
}

func nothingLeft(t *testing.T, servers ...*redistest.Server) {
	t.Helper()
	testkit.Eventually(t, fmt.Sprintf("no lock and no queue is left, and not %q", left(servers...)), func() bool { return len(left(servers...)) == 0 })
}

// Slots move back and forth under load, and stay half-way until the load has met every
// kind of reply: callers only notice a delay.
//
// Row 18 (redislock): MOVED, ASK and TRYAGAIN are followed or repeated, all waiters are
// served, tokens rise. Fails if the companions of a lock are in other slots.
func TestSlotsMove(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	c := &redistest.Cluster{Masters: redistest.StartCluster(t, 3)}
	l := clusterLoad(t, c, loadKeys(24))
	owner := make(map[int]*redistest.Server)
	var slots []int
	for _, key := range l.keys[:3] {
		slot := c.Slot(t, key)
		slots = append(slots, slot)
		for i, m := range c.Masters {
			if slot >= i*16384/3 && slot < (i+1)*16384/3 {
				owner[slot] = m
			}
		}
	}
	l.start(6, 2)
	l.goOn(200)
	for round := range 2 {
		for i, slot := range slots {
			from := owner[slot]
			to := c.Masters[(i+round)%3]
			if to == from {
				to = c.Masters[(i+round+1)%3]
			}
			asked := from.ErrorStat(t, "ASK")
			c.MoveSlot(t, slot, from, to, func() {
				again := func() int { return from.ErrorStat(t, "TRYAGAIN") + to.ErrorStat(t, "TRYAGAIN") }
				before := again()
				testkit.Eventually(t, "clients are told to come again", func() bool { return again() > before })
			})
			if from.ErrorStat(t, "ASK") == asked {
				t.Error("nobody was sent on")
			}
			owner[slot] = to
			l.goOn(50)
		}
	}
	l.stop()
	t.Logf("%d served, told %v", l.reg.Uses(), l.errors)
	nothingLeft(t, c.Masters...)
}

// movable returns a Cluster of two masters, a Backend, the slot of lockKey, its master
// and the other one.
func movable(t *testing.T) (c *redistest.Cluster, b *redislock.Backend, slot int, from, to *redistest.Server) {
	t.Helper()
	testmode.Long(t)
	t.Parallel()
	c = &redistest.Cluster{Masters: redistest.StartCluster(t, 2)}
	b = newBackend(t, redistest.ClusterClient(t, c.Masters), redislock.Config{OpTimeout: 15 * time.Second})
	from, to = c.Masters[0], c.Masters[1]
	if slot = c.Slot(t, lockKey); slot >= 16384/2 {
		from, to = to, from
	}
	return c, b, slot, from, to
}

// The operation timeout is longer than go-redis tries: a release must not fail because
// a slot moves.
//
// Row 18 (redislock): calls outlast TRYAGAIN. Fails if a command that a Cluster refuses
// temporarily is not sent again.
func TestRefusedForTheMoment(t *testing.T) {
	c, b, slot, from, to := movable(t)
	refusals := func() int { return from.ErrorStat(t, "TRYAGAIN") + to.ErrorStat(t, "TRYAGAIN") }
	var g driver.Grant
	for _, call := range []func() error{
		func() (err error) { g, err = b.TryAcquire(t.Context(), request(lockKey)); return err },
		func() error { return b.Release(t.Context(), g) },
	} {
		done := make(chan error, 1)
		moves := 0
		c.MoveSlot(t, slot, from, to, func() {
			if moves++; moves > 1 {
				return
			}
			before := refusals()
			go func() { done <- call() }()
			testkit.Eventually(t, "it was refused often", func() bool { return refusals() >= before+8 })
		})
		noError(t, <-done)
		from, to = to, from
	}
	if n := b.InDoubt(); n != 0 {
		t.Errorf("%d owners in doubt", n)
	}
	nothingLeft(t, c.Masters...)
}

// Two servers redirect to each other, for longer than go-redis follows them, as at the
// end of a slot's move that only one of them has seen.
//
// Row 18 (redislock): calls outlast servers that redirect to each other. Fails if MOVED
// is not sent again.
func TestNamingEachOther(t *testing.T) {
	_, b, slot, from, to := movable(t)
	owner := to.Client(t).Do(t.Context(), "cluster", "myid").Val()
	hand := func(at *redistest.Server) {
		t.Helper()
		noError(t, at.Client(t).Do(t.Context(), "cluster", "setslot", slot, "node", owner).Err())
	}
	hand(from)
	got := make(chan error, 1)
	go func() {
		g, err := b.TryAcquire(t.Context(), request(lockKey))
		if err == nil {
			err = b.Release(t.Context(), g)
		}
		got <- err
	}()
	testkit.Eventually(t, "they name each other", func() bool { return to.ErrorStat(t, "MOVED") >= 8 })
	hand(to)
	noError(t, <-got)
}

// keysOn returns n keys of each master.
func keysOn(t *testing.T, c *redistest.Cluster, n int) map[*redistest.Server][]string {
	t.Helper()
	on := make(map[*redistest.Server][]string)
	for i := 0; len(on[c.Masters[0]]) < n || len(on[c.Masters[1]]) < n || len(on[c.Masters[2]]) < n; i++ {
		key := fmt.Sprint("on:", i)
		m := c.Masters[min(c.Slot(t, key)*3/16384, 2)]
		if len(on[m]) < n {
			on[m] = append(on[m], key)
		}
	}
	return on
}

// One master is stopped.
//
// Row 18 (redislock): a master that hangs affects only its own locks. Fails if renewals
// to all masters wait for each other.
func TestMasterStopped(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	c := &redistest.Cluster{Masters: redistest.StartCluster(t, 3)}
	const limit = time.Second
	locker := testkit.NewLocker(t, redislock.New(redistest.ClusterClient(t, c.Masters), redislock.Config{}), distlock.Config{HandOverTime: -1})
	on := keysOn(t, c, 10)
	stopped := c.Masters[1]
	// A lease that ends if its renewals take as long as the timeout.
	opts := distlock.Opts{KeyTimeout: 3 * limit, RetryInterval: 50 * time.Millisecond}

	// Releases and renewals have connections of their own. The first of them asks any
	// server for the slots, and that might be the one that is stopped.
	noError(t, testkit.MustAcquire(t, locker, "first", opts).Release(t.Context()))
	leases := make(map[string]*distlock.Lease)
	for _, keys := range on {
		for _, key := range keys[5:] {
			leases[key] = testkit.MustAcquire(t, locker, key, opts)
		}
	}

	stopped.Stop()
	stalled := stalls(t, c.Masters[0], c.Masters[2])
	ctx, cancel := context.WithCancel(t.Context())
	var stuck sync.WaitGroup
	for _, key := range on[stopped][:5] {
		stuck.Go(func() {
			if s, err := locker.Acquire(ctx, key, opts); err == nil {
				t.Errorf("got %s of a server that is stopped", s.Key())
			}
		})
	}
	// Longer than a lease, so that a lease without renewals ends.
	var slowest time.Duration
	pause := time.NewTicker(20 * time.Millisecond)
	defer pause.Stop()
	for start, n := time.Now(), 0; time.Since(start) < opts.KeyTimeout+time.Second; n++ {
		for _, m := range []*redistest.Server{c.Masters[0], c.Masters[2]} {
			began := time.Now()
			noError(t, testkit.MustAcquire(t, locker, on[m][n%5], opts).Release(t.Context()))
			slowest = max(slowest, time.Since(began))
		}
		<-pause.C
	}
	if machine := stalled(); slowest > limit/2+2*machine {
		t.Errorf("on the other servers a lock took up to %v, and an answer up to %v", slowest, machine)
	}
	lost := func(key string) bool { return slices.Contains(on[stopped], key) }
	for key, lease := range leases {
		if (lease.Check() != nil) != lost(key) {
			t.Errorf("%s, stopped %v: %v", key, lost(key), lease.Check())
		}
	}
	cancel()
	stuck.Wait()
	stopped.Cont()
	for key, lease := range leases {
		if err := lease.Release(t.Context()); errors.Is(err, driver.ErrLost) != lost(key) || err != nil && !lost(key) {
			t.Errorf("%s, stopped %v: release: %v", key, lost(key), err)
		}
	}
	noError(t, locker.Close())
	nothingLeft(t, c.Masters...)
}

// stalls pings the servers in turn, repeatedly. The returned function ends that, and
// returns the longest time of a round: that part of a delay is caused by the machine.
func stalls(t *testing.T, servers ...*redistest.Server) (longest func() time.Duration) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var clients []*redis.Client
	for _, s := range servers {
		clients = append(clients, s.Client(t))
	}
	var most time.Duration
	var asking sync.WaitGroup
	asking.Go(func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for last := time.Now(); ctx.Err() == nil; last = time.Now() {
			<-tick.C
			for _, c := range clients {
				c.Ping(ctx)
			}
			most = max(most, time.Since(last))
		}
	})
	longest = func() time.Duration {
		cancel()
		asking.Wait()
		return most
	}
	t.Cleanup(func() { longest() })
	return longest
}
