package redlock_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/await"
	"github.com/distlock-go/distlock/internal/test/spoilnet"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// Locks work at the speed of the quorum while a minority hangs, from the first
// operation on: an operation does not wait for a node that does not answer.
//
// Row 23 (redlock): locks work at the speed of the quorum. Fails if an attempt waits
// for the answers of all nodes.
func TestMinorityHangs(t *testing.T) {
	t.Parallel()
	for name, tokens := range map[string]bool{"plain": false, "tokens": true} {
		t.Run(name, func(t *testing.T) {
			f := realFleet(t, 5)
			const limit = 6 * time.Second
			b := newBackend(t, f.clients(), redlock.Config{Tokens: tokens, NodeTimeout: limit})
			f.warm(t, b)
			f.servers[1].Stop()
			f.servers[3].Stop()
			for i := range 30 {
				r := request()
				start := time.Now()
				g := testkit.MustTry(t, b, r)
				testkit.MustRenew(t, b, g)
				if _, err := b.TryAcquire(t.Context(), request()); err == nil {
					t.Fatal("two have it")
				} else {
					mustBeHeld(t, err)
				}
				testkit.MustRelease(t, b, g)
				if d := time.Since(start); d > limit/2 {
					t.Errorf("round %d took %v, and a hung node is given %v", i, d, limit)
				}
			}
			f.servers[1].Cont()
			f.servers[3].Cont()
			f.settled(t, b)
			f.everywhere(t, b, request())
		})
	}
}

// With too few nodes every attempt fails, in bounded time, and nothing is left when the
// nodes return.
//
// Row 23 (redlock): without a quorum no lock is granted, and nothing is left. Fails if
// two of five nodes are enough.
func TestMajorityHangs(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	f := realFleet(t, 5)
	const limit = time.Second
	b := newBackend(t, f.clients(), redlock.Config{NodeTimeout: limit})
	f.warm(t, b)
	r := request()
	r.Key = "held"
	held := f.everywhere(t, b, r)
	for _, i := range []int{0, 2, 4} {
		f.servers[i].Stop()
	}
	r = request()
	for range 3 * redlock.SilentAfter { // the first attempts wait for each node, later ones do not
		start := time.Now()
		mustFail(t, testkit.ErrorOf(b.TryAcquire(t.Context(), r)))
		if d := time.Since(start); d > limit+5*time.Second {
			t.Errorf("it took %v", d)
		}
	}
	if got := testkit.Renewed(t, b, held); !await.InDoubt(got) || errors.Is(got, context.DeadlineExceeded) {
		t.Errorf("renewal: %+v", got)
	}
	err := b.Release(t.Context(), r.Grant())
	if err == nil || errors.Is(err, driver.ErrLost) {
		t.Errorf("release: %v", err)
	}
	testkit.Eventually(t, "the others are free", func() bool {
		return f.admins[1].Exists(t.Context(), lockKey).Val()+f.admins[3].Exists(t.Context(), lockKey).Val() == 0
	})
	for _, i := range []int{0, 2, 4} {
		f.servers[i].Cont()
	}
	f.settled(t, b)
	if got := testkit.Renewed(t, b, held); got != nil {
		t.Errorf("renewal afterwards: %+v", got)
	}
}

// spoilt returns a Backend with a network for each node.
func spoilt(t *testing.T, f *fleet, limit time.Duration, change ...redlock.Config) (*redlock.Backend, []*spoilnet.Network) {
	t.Helper()
	var networks []*spoilnet.Network
	var cs []redis.UniversalClient
	for i := range f.admins {
		n := spoilnet.To(f.dial(i))
		networks = append(networks, n)
		cs = append(cs, f.client(i, func(o *redis.Options) { o.Dialer = n.DialContext }))
	}
	cfg := append(change, redlock.Config{})[0]
	cfg.NodeTimeout = limit
	return newBackend(t, cs, cfg), networks
}

// A node stands still while a lease is renewed repeatedly. The lease continues, and
// once the node is known to be silent, few renewals wait for it at a time.
//
// Row 9 (redlock): few renewals wait for a node that sleeps, and the lease continues.
// Fails if any number of operations may wait for a silent node.
func TestRenewalsDoNotPileUp(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	f := realFleet(t, 3)
	const limit, sleep = time.Second, 6 * time.Second
	cs := f.clients()
	slow := f.servers[1].Client(t, func(o *redis.Options) { o.ReadTimeout = limit })
	cs[1] = plain{slow} // used for all operations
	b := newBackend(t, cs, redlock.Config{NodeTimeout: limit})
	g := f.everywhere(t, b, request())
	underWay := func() int { s := slow.PoolStats(); return int(s.TotalConns - s.IdleConns) }

	over := f.servers[1].Sleep(t, sleep)
	var most, renewals int
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for start := time.Now(); ; {
		select {
		case <-over:
		case <-tick.C:
			asked := time.Now()
			got := testkit.Renewed(t, b, g)
			if await.InDoubt(got) && time.Since(asked) >= limit {
				continue // the machine stood still
			}
			if got != nil {
				t.Fatalf("renewal: %v", got)
			}
			renewals++
			// Earlier renewals, from before the node was known to be silent, have ended
			// by then.
			if time.Since(start) > 3*limit {
				most = max(most, underWay())
			}
			continue
		}
		break
	}
	t.Logf("%d renewals, %d under way at the node", renewals, most)
	// A connection that is being opened or closed counts for a moment, too. Without the
	// limit there are about fifty.
	if most < 1 || most > 4*redlock.SilentAfter {
		t.Errorf("%d of %d renewals were under way at once", most, renewals)
	}
	testkit.Eventually(t, "the node answers again", func() bool {
		return testkit.Renewed(t, b, g) == nil && f.have(lockKey, g.Owner) == 3
	})
	testkit.MustRelease(t, b, g)
	f.settled(t, b)
}

// A late node keeps the lock if it was granted, and is free if it was not.
//
// Row 9 (redlock): a late vote is kept if the lock was granted, and released if not.
// Fails if the votes of a failed attempt are not released.
func TestLateNode(t *testing.T) {
	t.Parallel()
	f := realFleet(t, 3)
	b, networks := spoilt(t, f, 2*time.Second)
	f.warm(t, b)

	networks[0].At(spoilnet.Hold, callOf(redlock.AcquireHash))
	g := testkit.MustTry(t, b, request())
	deliver(t, networks[0])
	testkit.Eventually(t, "the late node has the lock", func() bool { return f.have(lockKey, g.Owner) == 3 })
	testkit.MustRelease(t, b, g)
	f.settled(t, b)

	f.put(t, "another", time.Minute, 1, 2)
	networks[0].At(spoilnet.Hold, callOf(redlock.AcquireHash))
	mustBeHeld(t, testkit.ErrorOf(b.TryAcquire(t.Context(), request())))
	deliver(t, networks[0])
	quiet(t, b)
	f.del(t, lockKey, 1, 2)
	f.allFree(t)
}

// plain hides the type of a *redis.Client, so that its options cannot be changed.
type plain struct{ redis.UniversalClient }

// hungClient returns a client that never gets a reply, and that ignores contexts and
// timeouts. It works in a testing/synctest bubble. When the test ends, the connection
// fails, and with it the pending commands.
func hungClient(t *testing.T) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{
		Addr: "127.0.0.1:0",
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			t.Cleanup(func() { _ = theirs.Close() }) // before c is closed
			return ours, nil
		},
		DialTimeout: time.Hour, ReadTimeout: -1, WriteTimeout: -1, MaxRetries: 100,
	})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// With clients that never reply and ignore contexts, every operation returns exactly
// when the node timeout has passed or its context ends.
func TestVirtualHungClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cs []redis.UniversalClient
		for range 5 {
			cs = append(cs, plain{hungClient(t)})
		}
		const limit = 100 * time.Millisecond
		r := request()
		g := r.Grant()
		for name, op := range map[string]func(context.Context, *redlock.Backend) error{
			"TryAcquire": func(ctx context.Context, b *redlock.Backend) error { _, err := b.TryAcquire(ctx, r); return err },
			"Release":    func(ctx context.Context, b *redlock.Backend) error { return b.Release(ctx, g) },
			"Renew": func(ctx context.Context, b *redlock.Backend) error {
				got := driver.RenewAll(ctx, b, []driver.Grant{g})
				if !await.InDoubt(got[0]) {
					t.Errorf("renewal: %v", got)
				}
				return got[0]
			},
		} {
			b := redlock.Open(cs, redlock.Config{NodeTimeout: limit})
			start := time.Now()
			err := op(t.Context(), b)
			if d := time.Since(start); d != limit || err == nil || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, driver.ErrLost) {
				t.Errorf("%s: %v after %v", name, err, d)
			}
			if d := stop(t, b); d > limit {
				t.Errorf("%s: Close took %v", name, d)
			}

			b = redlock.Open(cs, redlock.Config{NodeTimeout: limit})
			ctx, cancel := context.WithTimeout(t.Context(), limit/2)
			start = time.Now()
			if err := op(ctx, b); time.Since(start) != limit/2 || !await.InDoubt(err) {
				t.Errorf("%s, with a deadline: %v after %v", name, err, time.Since(start))
			}
			cancel()
			stop(t, b)
		}
	})
}

func stop(t *testing.T, b *redlock.Backend) time.Duration {
	t.Helper()
	start := time.Now()
	if err := errors.Join(b.Close(), b.Close()); err != nil {
		t.Error(err)
	}
	return time.Since(start)
}

// Pending releases to a node end with their leases, or with the Backend, which still
// works. TestMain detects leaks.
func TestVirtualPendingReleasesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := virtualFleet(t, 3)
		cs := f.clients()
		b := newBackend(t, plainly(cs)) // without connections of its own
		r := request()
		g := testkit.MustTry(t, b, r)
		synctest.Wait()
		_ = cs[1].Close()
		testkit.MustRelease(t, b, g)
		synctest.Wait()
		if n := b.PendingReleases(); n != 1 {
			t.Errorf("%d pending releases for one lock", n)
		}
		if _, err := b.TryAcquire(t.Context(), r); err == nil {
			t.Error("an owner that has released has the lock again, and the release is pending")
		}
		time.Sleep(redlock.NodeTTL(g.TTL) + time.Second)
		if n := b.PendingReleases() + b.Owners(); n != 0 {
			t.Errorf("%d pending releases and owners after the lease", n)
		}

		testkit.MustRelease(t, b, testkit.MustTry(t, b, request()))
		synctest.Wait()
		if n := b.PendingReleases(); n != 1 {
			t.Errorf("%d pending releases for one lock", n)
		}
		stop(t, b)
		time.Sleep(time.Second)
		if n := b.PendingReleases(); n != 0 {
			t.Errorf("%d pending releases after Close", n)
		}
		testkit.MustRelease(t, b, testkit.MustTry(t, b, request()))
	})
}
