package redissonlock_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redissonlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/redistest"
	"github.com/distlock-go/distlock/internal/spoilnet"
	"github.com/distlock-go/distlock/internal/testkit"
	"github.com/distlock-go/distlock/internal/testmode"
)

func contextError(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// scriptCall matches a call of any script.
func scriptCall(written []byte) bool { return bytes.Contains(written, []byte("evalsha")) }

// With a client that never replies and ignores contexts, every operation returns when its
// timeout has passed, at the latest, or when its context ends.
func TestHungClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := redissonlock.New(redistest.HungClient(t), redissonlock.WithOpTimeout(3*time.Second))
		r := request(lockKey)
		for name, op := range map[string]func(context.Context) error{
			"TryAcquire": func(ctx context.Context) error { _, err := b.TryAcquire(ctx, r); return err },
			"Release":    func(ctx context.Context) error { return b.Release(ctx, r.Grant()) },
			"Renew":      func(ctx context.Context) error { return driver.RenewAll(ctx, b, []driver.Grant{r.Grant()})[0].Err },
			"Ping":       b.Ping,
			"Inspect":    func(ctx context.Context) error { _, err := b.Inspect(ctx, lockKey, 1); return err },
			"Force":      func(ctx context.Context) error { _, err := b.ForceRelease(ctx, lockKey); return err },
		} {
			start := time.Now()
			err := op(t.Context())
			if d := time.Since(start); d == 0 || d > 3*time.Second || err == nil || contextError(err) {
				t.Errorf("%s with a context that goes on: %v after %v", name, err, d)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			start = time.Now()
			err = op(ctx)
			if d := time.Since(start); d != time.Second || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s with a deadline: %v after %v", name, err, d)
			}
			cancel()
		}
		start := time.Now()
		if err := b.Close(); err != nil || time.Since(start) > 3*time.Second {
			t.Errorf("Close: %v after %v", err, time.Since(start))
		}
	})
}

// spoiled returns a Backend with connections through a network, in the bubble of the test, and
// a client of the same server.
func spoiled(t *testing.T, opts ...redissonlock.Option) (*redissonlock.Backend, *spoilnet.Network, *redis.Client) {
	t.Helper()
	m := redistest.Virtual(t)
	n := spoilnet.To(m.Dial)
	c := redistest.VirtualClient(t, m, func(o *redis.Options) {
		o.Dialer, o.MaxRetries, o.ConnMaxIdleTime = n.DialContext, -1, time.Second
	}, redistest.Buffered)
	return newBackend(t, c, opts...), n, redistest.VirtualClient(t, m, redistest.Buffered)
}

// The reply to an attempt is lost: the same owner tries again and has the key, or releases it.
// The reply to a release is lost: the next release does not report a loss.
func TestLostReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, n, c := spoiled(t, redissonlock.WithOpTimeout(time.Second))
		mustRelease(t, b, mustTry(t, b, request("other"))) // the scripts are loaded
		r := request(lockKey)
		lose := func(what string, op func() error) {
			t.Helper()
			n.DeafenAt(scriptCall)
			if err := op(); err == nil || errors.Is(err, driver.ErrNotAcquired) || errors.Is(err, driver.ErrLost) {
				t.Errorf("%s without a reply: %v", what, err)
			}
		}
		lose("TryAcquire", func() error { _, err := b.TryAcquire(t.Context(), r); return err })
		if c.Exists(t.Context(), lockKey).Val() != 1 {
			t.Fatal("it did not arrive")
		}
		g := mustTry(t, b, r)
		lose("Renew", func() error { return driver.RenewAll(t.Context(), b, []driver.Grant{g})[0].Err })
		mustRelease(t, b, g)
		g = mustTry(t, b, request(lockKey)) // without an attempt in doubt
		lose("Release", func() error { return b.Release(t.Context(), g) })
		if c.Exists(t.Context(), lockKey).Val() != 0 {
			t.Fatal("it did not arrive")
		}
		next := mustTry(t, b, request(lockKey))
		mustRelease(t, b, g)
		mustRelease(t, b, next)
	})
}

// A set of tombstones that is not one does not hide a loss.
func TestLossBesideForeignTombstones(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, n, c := spoiled(t, redissonlock.WithOpTimeout(time.Second))
		mustRelease(t, b, mustTry(t, b, request("other")))
		r := request(lockKey)
		n.DeafenAt(scriptCall)
		if _, err := b.TryAcquire(t.Context(), r); err == nil {
			t.Fatal("the attempt is not in doubt")
		}
		g := mustTry(t, b, r)
		noError(t, c.Del(t.Context(), lockKey).Err())
		lockInJava(t, c, lockKey, javaThread, time.Minute)
		noError(t, c.Set(t.Context(), goneKey, "x", 0).Err())
		if err := b.Release(t.Context(), g); !errors.Is(err, driver.ErrLost) {
			t.Errorf("Release: %v", err)
		}
		if n := c.HLen(t.Context(), lockKey).Val(); n != 1 {
			t.Errorf("the lock in Java has %d fields", n)
		}
	})
}

// An abandoned attempt arrives after the release of its owner. It must not take the key.
func TestOvertakenAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, n, c := spoiled(t)
		mustRelease(t, b, mustTry(t, b, request("other")))
		r := request(lockKey)
		n.HoldAt(scriptCall)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		if _, err := b.TryAcquire(ctx, r); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("TryAcquire: %v", err)
		}
		mustRelease(t, b, r.Grant())
		if err := n.Deliver(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if c.Exists(t.Context(), lockKey).Val() != 0 {
			t.Error("an attempt that came late has the key")
		}
		if c.ZCard(t.Context(), goneKey).Val() != 1 {
			t.Error("the owner has no tombstone")
		}
		mustRelease(t, b, mustTry(t, b, request(lockKey)))
		time.Sleep(15 * time.Minute)
		if keys := c.Keys(t.Context(), "*gone*").Val(); len(keys) != 0 {
			t.Errorf("left behind: %q", keys)
		}
	})
}

// A message is lost because the connection for messages is dead. The waiter looks when there is
// a new one; its own poll is far away.
func TestDeafListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, n, c := spoiled(t)
		lockInJava(t, c, lockKey, javaThread, time.Hour)
		l := distlock.New(b, distlock.Config{})
		defer l.Close()
		var got *distlock.Lease
		done := make(chan error)
		go func() {
			var err error
			got, err = l.Acquire(t.Context(), lockKey, distlock.Opts{RetryInterval: time.Hour})
			done <- err
		}()
		time.Sleep(time.Minute)
		n.Cut()
		start := time.Now()
		noError(t, c.Del(t.Context(), lockKey).Err())
		noError(t, c.Publish(t.Context(), channel, "0").Err())
		noError(t, <-done)
		if d := time.Since(start); d > 15*time.Second {
			t.Errorf("deaf for %v", d)
		}
		noError(t, got.Release(t.Context()))
		n.CloseCut()
	})
}

// The channel of RReadWriteLock works later than that of RLock: a release may have been missed
// until then.
func TestSecondChannelWorksLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := redistest.Virtual(t)
		var allowed atomic.Bool
		m.Server().SetPreHook(func(c *server.Peer, cmd string, args ...string) bool {
			refused := cmd == "SUBSCRIBE" && args[0] == rwChannel && !allowed.Load()
			if refused {
				c.WriteError("NOPERM this user has no permissions")
			}
			return refused
		})
		up := newBackend(t, redistest.VirtualClient(t, m, redistest.Buffered)).Wake(t.Context(), lockKey)
		woken := func() bool {
			synctest.Wait()
			select {
			case <-up:
				return true
			default:
				return false
			}
		}
		if !woken() || woken() {
			t.Error("one channel works: there must be one value")
		}
		allowed.Store(true)
		time.Sleep(10 * time.Second)
		if !woken() || woken() {
			t.Error("the other works, too: there must be one value")
		}
	})
}

// A waiter has the key as soon as Java publishes, or as soon as the lease of a dead holder in
// Java ends.
func TestWokenByJava(t *testing.T) {
	for name, c := range map[string]struct {
		publish string
		want    time.Duration
	}{
		"RLock": {channel, 3 * time.Second}, "RReadWriteLock": {rwChannel, 3 * time.Second}, "dead": {"", 20 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, client := virtual(t)
				lockInJava(t, client, lockKey, javaThread, 20*time.Second)
				l := distlock.New(b, distlock.Config{})
				defer l.Close()
				start := time.Now()
				if c.publish != "" {
					time.AfterFunc(3*time.Second, func() {
						client.Del(context.Background(), lockKey)
						client.Publish(context.Background(), c.publish, "0")
					})
				}
				lease, err := l.Acquire(t.Context(), lockKey, distlock.Opts{RetryInterval: time.Hour})
				noError(t, err)
				if d := time.Since(start); d < c.want || d > c.want+10*time.Millisecond {
					t.Errorf("acquired after %v, want %v", d, c.want)
				}
				noError(t, lease.Release(t.Context()))
			})
		})
	}
}

// A server that was killed and has lost its data: the lease is lost, as the next renewal says,
// and the key can be taken again with a larger token. The connections of the pools are dead.
func TestRestart(t *testing.T) {
	s := redistest.Start(t)
	b := newBackend(t, s.Client(t))
	g := mustTry(t, b, request(lockKey))
	if got := renew(t, b, g); got != driver.Renewed {
		t.Fatal(got)
	}
	s.Kill()
	s.Restart()
	if got := renew(t, b, g); got != driver.Lost {
		t.Errorf("Renew: %v", got)
	}
	if err := b.Release(t.Context(), g); !errors.Is(err, driver.ErrLost) {
		t.Errorf("Release: %v", err)
	}
	next := mustTry(t, b, request(lockKey))
	if next.Token <= g.LastToken {
		t.Errorf("token %d after %d", next.Token, g.LastToken)
	}
	mustRelease(t, b, next)
}

// An application that uses up the pool of its client loses no lease.
func TestUsedUpPool(t *testing.T) {
	s := redistest.Start(t)
	c := s.Client(t, func(o *redis.Options) { o.PoolSize = 2 })
	b := newBackend(t, c)
	g := mustTry(t, b, request(lockKey))
	redistest.UseUp(t, c)
	if got := renew(t, b, g); got != driver.Renewed {
		t.Errorf("Renew: %v", got)
	}
	mustRelease(t, b, g)
}

// In a Cluster a master that does not answer delays no renewals on others, and a waiter is
// woken also after the slot of its key has moved.
func TestCluster(t *testing.T) {
	testmode.Long(t)
	cluster := redistest.StartClusterWithReplicas(t, 3, 0)
	c := redistest.ClusterClient(t, cluster.Masters)
	b := newBackend(t, c, redissonlock.WithOpTimeout(2*time.Second))

	t.Run("wake", func(t *testing.T) {
		g := mustTry(t, b, request(lockKey))
		up := newBackend(t, redistest.ClusterClient(t, cluster.Masters)).Wake(t.Context(), lockKey)
		<-up
		slot := cluster.Slot(t, lockKey)
		from := slices.IndexFunc(cluster.Masters, func(s *redistest.Server) bool {
			return s.Client(t).Exists(t.Context(), lockKey).Val() == 1
		})
		cluster.MoveSlot(t, slot, cluster.Masters[from], cluster.Masters[(from+1)%3], func() {})
		select {
		case <-up: // it looks when it listens again
		case <-time.After(time.Minute):
			t.Fatal("it does not listen at the new master")
		}
		testkit.Eventually(t, "the slot is served again", func() bool { return b.Release(t.Context(), g) == nil })
		select {
		case <-up:
		case <-time.After(time.Minute):
			t.Fatal("it was not woken")
		}
	})

	t.Run("silent master", func(t *testing.T) {
		grants := make([]driver.Grant, 12)
		silent := make([]bool, len(grants))
		for i := range grants {
			grants[i] = mustTry(t, b, request(fmt.Sprint("shop:", i)))
			silent[i] = cluster.Masters[2].Client(t).Exists(t.Context(), grants[i].Key).Val() == 1
		}
		cluster.Masters[2].Stop()
		defer cluster.Masters[2].Cont()
		start := time.Now()
		reports := make(map[int]time.Duration)
		var mu sync.Mutex
		b.Renew(t.Context(), grants, func(i int, r driver.RenewResult) {
			mu.Lock()
			defer mu.Unlock()
			reports[i] = time.Since(start)
			if want := driver.Renewed; !silent[i] && r.Status != want {
				t.Errorf("grant %d: %+v", i, r)
			}
			if silent[i] && r.Status != driver.Unknown {
				t.Errorf("grant %d on the silent master: %+v", i, r)
			}
		})
		for i, d := range reports {
			if !silent[i] && d > time.Second {
				t.Errorf("grant %d was reported after %v", i, d)
			}
		}
		if len(reports) != len(grants) || !slices.Contains(silent, true) || !slices.Contains(silent, false) {
			t.Errorf("%d reports, silent: %v", len(reports), silent)
		}
	})
}
