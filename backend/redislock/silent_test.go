package redislock_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/spoilnet"
)

// If a server does not answer, queued operations end together with the operations in
// progress: to wait as long again would not help.
func TestVirtualSilentServerEndsTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := redistest.Virtual(t)
		n := spoilnet.To(m.Dial)
		c := redistest.VirtualClient(t, m, func(o *redis.Options) { o.Dialer = n.DialContext; o.ReadTimeout = -1; o.WriteTimeout = -1 })
		b := newBackend(t, c, redislock.WithOpTimeout(redislock.DefaultOpTimeout))
		n.Hang(true)
		start := time.Now()
		var all sync.WaitGroup
		for i := range 300 {
			if i == 1 {
				synctest.Wait() // the first request is sent alone
			}
			all.Go(func() {
				_, err := b.TryAcquire(t.Context(), request(lockKey))
				if d := time.Since(start); d != redislock.DefaultOpTimeout || err == nil || contextError(err) {
					t.Errorf("%v after %v", err, d)
				}
			})
		}
		synctest.Wait()
		if b.Queued() == 0 {
			t.Fatal("nobody queues")
		}
		all.Wait()
		n.CloseCut()
	})
}

// An owner is compared as a whole: the owners of one process have the same end, and an
// owner may be a prefix of another.
func TestOwnersAreComparedAsAWhole(t *testing.T) {
	eachServer(t, func(t *testing.T, s server) {
		b := newBackend(t, s.Client)
		const uuid = "6b1e4a3f-a10f-4c1e-9066-e476dbbcd8e6"
		owners := []string{uuid, uuid + "@web-3/1", uuid + "@web-3/14", uuid[:35] + "7@web-3/14"}
		for _, has := range owners {
			for _, r := range []driver.Request{request(lockKey), reader(lockKey), permit(lockKey, 1)} {
				s.FlushAll(t.Context())
				r.Owner = has
				g := must(b.TryAcquire(t.Context(), r))
				for _, other := range owners {
					if other == has {
						continue
					}
					o := g
					o.Owner = other
					renewed(t, driver.RenewAll(t.Context(), b, []driver.Grant{o}), all(driver.Lost))
					matches(t, "release", b.Release(t.Context(), o), driver.ErrLost)
				}
				renewed(t, driver.RenewAll(t.Context(), b, []driver.Grant{g}), all(driver.Renewed))
				mustRelease(t, b, g)
			}
		}
	})
}
