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

// All processes of the server are stopped for longer than a lease. Also the first
// operation of a new Backend ends, and the waiter gets the key afterwards.
//
// Row 9 (sqllock): operations are bounded, and the holder is told before another owner
// gets the key. Fails if operations have no timeout.
func TestServerStopped(t *testing.T) {
	testmode.Long(t)
	eachOwn(t, func(t *testing.T, of *store) {
		const timeout = 300 * time.Millisecond
		bounded := sqllock.Config{OpTimeout: timeout}
		b, fresh := of.open(t, bounded), of.open(t, bounded)
		var g driver.Grant
		testkit.Eventually(t, "it has the key", func() (ok bool) {
			var err error
			g, err = b.TryAcquire(t.Context(), request("held", time.Minute))
			return err == nil
		})
		opts := distlock.Opts{KeyTimeout: 3 * time.Second, RetryInterval: 50 * time.Millisecond}
		lease := testkit.MustAcquire(t, of.locker(t, bounded), "lost", opts)
		next := testkit.StartAcquire(t, of.locker(t, bounded), "lost", opts)
		admin := of.open(t)
		testkit.Eventually(t, "it waits", func() bool { return waiting(t, admin, "lost") == 1 })

		of.server.Stop(t)
		var all sync.WaitGroup
		for _, b := range []*sqllock.Backend{b, fresh} {
			for name, call := range calls(t, b, g) {
				all.Go(func() {
					start := time.Now()
					if err := call(); !unknown(err) {
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
		next.MustWait(t)
		of.server.Cont(t)
		s := next.Served(t)
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
