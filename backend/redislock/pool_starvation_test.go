package redislock_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
)

// The application's own commands use all connections of its client. Locks have connections of their
// own: for more than two leases nothing of them is lost or released late, and another lock can be
// acquired.
func TestVirtualBusyPoolLosesNoLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const poolSize = 4
		m := redistest.Virtual(t)
		c := redistest.VirtualClient(t, m, func(o *redis.Options) { o.PoolSize = poolSize })
		admin := redistest.VirtualClient(t, m)
		const ttl = 3 * time.Second
		b := redislock.Open(c, redislock.Config{})
		l := distlock.New(b, distlock.Config{})
		defer l.Close()
		other := distlock.New(redislock.New(admin, redislock.Config{}), distlock.Config{})
		defer other.Close()
		opts := map[string]distlock.Opts{
			"exclusive": {KeyTimeout: ttl},
			"shared":    {KeyTimeout: ttl, Mode: driver.Shared},
			"permit":    {KeyTimeout: ttl, Permits: 1},
		}
		leases := make(map[string]*distlock.Lease)
		for key, o := range opts {
			leases[key] = must(l.Acquire(t.Context(), key, o))
		}

		var busy sync.WaitGroup
		for range poolSize {
			busy.Go(func() {
				if err := c.BLPop(context.Background(), time.Minute, "jobs").Err(); err != nil {
					t.Errorf("BLPOP: %v", err)
				}
			})
		}
		synctest.Wait()
		late, err := l.TryAcquire(t.Context(), "late", distlock.Opts{KeyTimeout: ttl})
		noError(t, err)
		noError(t, late.Release(t.Context()))
		time.Sleep(2*ttl + ttl/4)
		for key, lease := range leases {
			if err := lease.Check(); err != nil {
				t.Errorf("%s: %v", key, err)
			}
			start := time.Now()
			err := lease.Release(t.Context())
			if d := time.Since(start); err != nil || d > time.Second {
				t.Errorf("%s: release: %v after %v", key, err, d)
			}
			next, err := other.TryAcquire(t.Context(), key, opts[key])
			noError(t, err)
			noError(t, next.Release(t.Context()))
		}
		for range poolSize {
			noError(t, admin.RPush(t.Context(), "jobs", "a job").Err())
		}
		busy.Wait()
	})
}
