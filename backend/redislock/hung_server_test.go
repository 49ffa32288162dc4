package redislock_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
)

func contextError(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// With a client that never replies and ignores contexts, every operation returns when its
// timeout has passed, at the latest, or when its context ends. While a server is silent, a
// later operation ends with the one before it.
func TestVirtualHungClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := redislock.New(redistest.HungClient(t), redislock.WithOpTimeout(3*time.Second))
		r := request("k")
		g := r.Grant()
		for name, op := range map[string]func(context.Context) error{
			"TryAcquire":   func(ctx context.Context) error { _, err := b.TryAcquire(ctx, r); return err },
			"Acquire":      func(ctx context.Context) error { _, err := b.Acquire(ctx, r); return err },
			"Extend":       func(ctx context.Context) error { _, err := b.Extend(ctx, g, 1); return err },
			"Release":      func(ctx context.Context) error { return b.Release(ctx, g) },
			"Renew":        func(ctx context.Context) error { return driver.RenewAll(ctx, b, []driver.Grant{g})[0].Err },
			"Inspect":      func(ctx context.Context) error { _, err := b.Inspect(ctx, "", 1); return err },
			"ForceRelease": func(ctx context.Context) error { _, err := b.ForceRelease(ctx, "k"); return err },
			"Revoke":       func(ctx context.Context) error { _, err := b.Revoke(ctx, "k"); return err },
		} {
			start := time.Now()
			err := op(t.Context())
			if d := time.Since(start); d == 0 || d > 3*time.Second || err == nil || contextError(err) {
				t.Errorf("%s with a context that goes on: %v after %v", name, err, d)
			}

			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			start = time.Now()
			err = op(ctx)
			if d := time.Since(start); d != time.Second || err != context.DeadlineExceeded { //nolint:errorlint // the same value
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

// A server is responsive and then hangs: a single caller without others may exceed its
// context a little, and later callers may not. Of many callers, those that leave do so at once,
// the others do not wait without end, and a request that was not sent is not in doubt. The
// server works again with new connections.
func TestVirtualHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, n := overNetwork(t, redistest.Virtual(t), func(o *redis.Options) { o.ReadTimeout, o.WriteTimeout = -1, -1 })
		b := newBackend(t, c, redislock.WithOpTimeout(redislock.DefaultOpTimeout))
		for range 3 {
			mustRelease(t, b, must(b.Acquire(t.Context(), request(lockKey))))
			synctest.Wait()
		}
		n.Hang(true)
		const slack, patience = 50 * time.Millisecond, 20 * time.Millisecond
		leave := func(r driver.Request, slack time.Duration) {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(patience, cancel)
			start := time.Now()
			_, err := b.Acquire(ctx, r)
			if d := time.Since(start); err != context.Canceled || d > patience+slack { //nolint:errorlint // the same value
				t.Errorf("one who left: %v after %v", err, d)
			}
		}
		leave(request(lockKey), slack-patience)
		leave(request(lockKey), 0)
		var all sync.WaitGroup
		for i := range 100 {
			all.Go(func() {
				r := request("k" + strconv.Itoa(i))
				if i >= 50 {
					leave(r, 0)
					return
				}
				start := time.Now()
				_, err := b.TryAcquire(t.Context(), r)
				if d := time.Since(start); d > 2*redislock.DefaultOpTimeout || err == nil || contextError(err) {
					t.Errorf("one who waited: %v after %v", err, d)
				}
			})
			synctest.Wait()
		}
		all.Wait()
		if b.InDoubt() > 50 {
			t.Errorf("%d are in doubt, although most were never sent", b.InDoubt())
		}
		n.Hang(false)
		n.CloseCut() // those requests had no timeout
		mustRelease(t, b, mustTry(t, b, request(lockKey)))
		synctest.Wait() // the caller has its result before the batch has ended
		if b.InFlight() != 0 || b.Queued() != 0 {
			t.Errorf("%d in flight, %d queued", b.InFlight(), b.Queued())
		}
	})
}
