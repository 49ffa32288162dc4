package redislock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/spoilnet"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// overNetwork returns a client of m with connections over a network that can fail.
func overNetwork(t *testing.T, m *miniredis.Miniredis, change ...func(*redis.Options)) (*redis.Client, *spoilnet.Network) {
	t.Helper()
	n := spoilnet.To(m.Dial)
	return redistest.VirtualClient(t, m, append(change, func(o *redis.Options) { o.Dialer = n.DialContext })...), n
}

// virtualLocker returns a Locker with connections of its own to m, and their network.
func virtualLocker(t *testing.T, m *miniredis.Miniredis) (*distlock.Locker, *spoilnet.Network) {
	t.Helper()
	c, n := overNetwork(t, m)
	l := distlock.New(newBackend(t, c), distlock.Config{})
	t.Cleanup(func() { _ = l.Close() })
	return l, n
}

// A waiter with a long interval keeps its place, although queues expire without
// requests.
func TestVirtualPatientWaiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := redistest.VirtualClient(t, redistest.Virtual(t))
		b := newBackend(t, c)
		long := request(lockKey)
		long.TTL = time.Hour
		g := mustTry(t, b, long)
		r := request(lockKey)
		w := testkit.StartWaiter(t, b, r)
		synctest.Wait()
		ticket := c.ZScore(t.Context(), queueKey, b.Member(r.Owner)).Val()
		for range 30 {
			time.Sleep(time.Minute)
			if got := c.ZScore(t.Context(), queueKey, b.Member(r.Owner)).Val(); ticket == 0 || got != ticket {
				t.Fatalf("the ticket was %f and is %f", ticket, got)
			}
		}
		start := time.Now()
		mustRelease(t, b, g)
		<-w.Done
		if d := time.Since(start); w.Err != nil || d != 0 {
			t.Errorf("it got the key after %v: %v", d, w.Err)
		}
		// A queue of dead owners expires.
		dying := testkit.StartWaiter(t, b, request(lockKey))
		synctest.Wait()
		dying.Cancel()
		<-dying.Done
		time.Sleep(redislock.QueueTTL)
		if n := c.Exists(t.Context(), queueKey).Val(); n != 0 {
			t.Error("a queue of the dead is left")
		}
	})
}

// An owner is compared as a whole: the owners of one process have the same end, and an
// owner may be a prefix of another.
func TestOwnersAreComparedAsAWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := redistest.VirtualClient(t, redistest.Virtual(t))
		b := newBackend(t, c)
		const uuid = "6b1e4a3f-a10f-4c1e-9066-e476dbbcd8e6"
		owners := []string{uuid, uuid + "@web-3/1", uuid + "@web-3/14", uuid[:35] + "7@web-3/14"}
		for _, has := range owners {
			for _, ask := range modes {
				r := ask(lockKey)
				c.FlushAll(t.Context())
				r.Owner = has
				g := must(b.TryAcquire(t.Context(), r))
				for _, other := range owners {
					if other == has {
						continue
					}
					o := g
					o.Owner = other
					renewed(t, driver.RenewAll(t.Context(), b, []driver.Grant{o}), all("lost"))
					matches(t, "release", b.Release(t.Context(), o), driver.ErrLost)
				}
				renewed(t, driver.RenewAll(t.Context(), b, []driver.Grant{g}), all("extended"))
				mustRelease(t, b, g)
			}
		}
	})
}
