package redislock_test

import (
	"errors"
	"strconv"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// Concurrent operations share a script. If it fails because of one lock, it fails for
// that lock only: no other request is refused, and no other release fails.
func TestBadKeyFailsAlone(t *testing.T) {
	check := func(t *testing.T, b *redislock.Backend, prefix, bad, says string) {
		t.Helper()
		var all sync.WaitGroup
		for w := range 64 {
			all.Go(func() {
				r := request(prefix + strconv.Itoa(w))
				if w < 4 {
					r.Key = bad
				}
				for range 10 {
					r.Owner = request("").Owner
					var g driver.Grant
					var err error
					if w%2 == 0 {
						g, err = b.TryAcquire(t.Context(), r)
					} else {
						g, err = b.Acquire(t.Context(), r)
					}
					if w < 4 {
						if err == nil || errors.Is(err, driver.ErrNotAcquired) {
							t.Errorf("the bad key: %v", err)
						}
						readable(t, "the bad key", err, says)
						continue
					}
					if err != nil {
						t.Errorf("%s: %v", r.Key, err)
						return
					}
					if err := b.Release(t.Context(), g); err != nil {
						t.Errorf("%s: release: %v", r.Key, err)
					}
				}
			})
		}
		all.Wait()
	}
	t.Run("foreign queue", func(t *testing.T) {
		s := realServer(t)
		s.Set(t.Context(), "{bad}:queue", "not a queue", 0)
		check(t, newBackend(t, s.Client), "good", "bad", `WRONGTYPE .*: the queue "{bad}:queue" is a string`)
	})
	t.Run("forbidden", func(t *testing.T) {
		s := realServer(t)
		redistest.SetUser(t, s.Client, documentedRules(t))
		check(t, newBackend(t, s.real.Client(t, redistest.AsUser)), "shop:", "other:bad", "NOPERM")
	})
	t.Run("a foreign queue at a permit's", func(t *testing.T) {
		s := realServer(t)
		b := newBackend(t, s.Client)
		s.Set(t.Context(), "{k7}:queue", "not a queue", 0)
		errs := make([]error, 64)
		var all sync.WaitGroup
		s.paused(func() {
			for i := range errs {
				all.Go(func() { _, errs[i] = b.TryAcquire(t.Context(), permit("k"+strconv.Itoa(i), 2)) })
			}
			testkit.Eventually(t, "they meet", func() bool { return b.Queued() > 32 })
		})
		all.Wait()
		for i, err := range errs {
			if bad := i == 7; bad != redis.HasErrorPrefix(err, "WRONGTYPE") || !bad && err != nil {
				t.Errorf("k%d: %v", i, err)
			}
		}
	})
}
