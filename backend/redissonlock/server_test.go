package redissonlock_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redissonlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
)

func contextError(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

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
