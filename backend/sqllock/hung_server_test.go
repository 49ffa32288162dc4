package sqllock_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/sqllock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// TestServerStopped: all processes of the server are stopped for longer than a lease
// lasts. No operation waits for it: each ends after the timeout, also the first of a new
// Backend. The holder's context is cancelled, and the waiter gets the key afterwards.
//
// Row 9 (sqllock): operations are bounded, and the holder is told before another owner
// gets the key. Fails if operations have no timeout.
func TestServerStopped(t *testing.T) {
	testmode.Long(t)
	eachOwn(t, func(t *testing.T, of *store) {
		const timeout = 300 * time.Millisecond
		bounded := sqllock.WithOpTimeout(timeout)
		b, fresh := of.open(t, bounded), of.open(t, bounded)
		var g driver.Grant
		testkit.Eventually(t, "it has the key", func() (ok bool) {
			var err error
			g, err = b.TryAcquire(t.Context(), request("held", time.Minute))
			return err == nil
		})
		opts := distlock.Opts{KeyTimeout: 3 * time.Second, RetryInterval: 50 * time.Millisecond}
		lease := testkit.MustAcquire(t, of.locker(t, bounded), "lost", opts)
		next := startWaiter(t, of.locker(t, bounded), "lost", opts)
		admin := of.open(t)
		testkit.Eventually(t, "it waits", func() bool { return waiting(t, admin, "lost") == 1 })

		of.server.Stop(t)
		var all sync.WaitGroup
		for name, op := range map[string]func(b *sqllock.Backend) error{
			"TryAcquire": func(b *sqllock.Backend) error {
				_, err := b.TryAcquire(t.Context(), request("other", time.Minute))
				return err
			},
			"Acquire": func(b *sqllock.Backend) error {
				r := request("held", time.Minute)
				r.Backoff = driver.NewBackoff(time.Hour, 0)
				_, err := b.Acquire(t.Context(), r)
				return err
			},
			"Renew": func(b *sqllock.Backend) error {
				r := testkit.Renewed(t, b, g)
				if r.Status != driver.Unknown {
					t.Errorf("renewed without a server: %v", r.Status)
				}
				return r.Err
			},
			"Extend": func(b *sqllock.Backend) error {
				_, err := b.Extend(t.Context(), g, 1)
				return err
			},
			"Release": func(b *sqllock.Backend) error { return b.Release(t.Context(), request("other", time.Minute).Grant()) },
			"Inspect": func(b *sqllock.Backend) error {
				_, err := b.Inspect(t.Context(), "", 10)
				return err
			},
			"ForceRelease": func(b *sqllock.Backend) error {
				_, err := b.ForceRelease(t.Context(), "other")
				return err
			},
			"Ping": func(b *sqllock.Backend) error { return b.Ping(t.Context()) },
		} {
			for _, b := range []*sqllock.Backend{b, fresh} {
				all.Go(func() {
					start := time.Now()
					if err := op(b); !unknown(err) {
						t.Errorf("%s without a server: %v", name, err)
					}
					if d := time.Since(start); d > 10*time.Second {
						t.Errorf("%s takes %v", name, d)
					}
				})
			}
		}
		all.Wait()
		<-lease.Context().Done()
		if err := context.Cause(lease.Context()); !errors.Is(err, driver.ErrLost) {
			t.Errorf("the holder is told %v", err)
		}
		next.mustWait(t)
		of.server.Cont(t)
		s := next.served(t)
		if s.Token() <= lease.Token() {
			t.Errorf("token %d after %d", s.Token(), lease.Token())
		}
		testkit.Eventually(t, "the former holder's release is refused", func() bool {
			return errors.Is(lease.Release(t.Context()), driver.ErrLost)
		})
		testkit.Eventually(t, "the next one's is not", func() bool { return s.Release(t.Context()) == nil })
		testkit.Eventually(t, "the other lock is renewed", func() bool {
			r := testkit.Renewed(t, b, g)
			if r.Status == driver.Lost {
				t.Fatal("it is lost")
			}
			return r.Status == driver.Renewed
		})
		testkit.Eventually(t, "it is released", func() bool { return b.Release(t.Context(), g) == nil })
	})
}
