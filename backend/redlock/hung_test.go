package redlock_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// plain hides the type of a *redis.Client, so that its options cannot be changed.
type plain struct{ redis.UniversalClient }

// With clients that never reply and ignore contexts, every operation returns exactly
// when the node timeout has passed or its context ends.
func TestVirtualHungClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cs []redis.UniversalClient
		for range 5 {
			cs = append(cs, plain{redistest.HungClient(t)})
		}
		const limit = 100 * time.Millisecond
		r := request()
		g := r.Grant()
		for name, op := range map[string]func(context.Context, *redlock.Backend) error{
			"TryAcquire": func(ctx context.Context, b *redlock.Backend) error { _, err := b.TryAcquire(ctx, r); return err },
			"Release":    func(ctx context.Context, b *redlock.Backend) error { return b.Release(ctx, g) },
			"Renew": func(ctx context.Context, b *redlock.Backend) error {
				got := driver.RenewAll(ctx, b, []driver.Grant{g})
				if got[0].Status != driver.Unknown {
					t.Errorf("renewal: %v", got)
				}
				return got[0].Err
			},
		} {
			b := redlock.New(cs, redlock.WithNodeTimeout(limit))
			start := time.Now()
			err := op(t.Context(), b)
			if d := time.Since(start); d != limit || err == nil || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, driver.ErrLost) {
				t.Errorf("%s: %v after %v", name, err, d)
			}
			if d := stop(t, b); d > limit {
				t.Errorf("%s: Close took %v", name, d)
			}

			b = redlock.New(cs, redlock.WithNodeTimeout(limit))
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(limit/2, cancel)
			start = time.Now()
			err = op(ctx, b)
			if d := time.Since(start); d != limit/2 || !errors.Is(err, context.Canceled) {
				t.Errorf("%s, cancelled: %v after %v", name, err, d)
			}
			if err := op(ctx, b); !errors.Is(err, context.Canceled) {
				t.Errorf("%s, cancelled before: %v", name, err)
			}
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

// Pending releases to a node end with their leases, or with the Backend, which still works.
// TestMain detects leaks.
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
