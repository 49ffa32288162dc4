package sqllock_test

import (
	"context"
	"errors"
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
		bounded := sqllock.Config{OpTimeout: 300 * time.Millisecond}
		fresh, admin := of.open(t, bounded), of.open(t)
		opts := distlock.Opts{KeyTimeout: 3 * time.Second, RetryInterval: 50 * time.Millisecond}
		lease := testkit.MustAcquire(t, of.locker(t, bounded), "lost", opts)
		next := testkit.StartAcquire(t, of.locker(t, bounded), "lost", opts)
		testkit.Eventually(t, "it waits", func() bool { return waiting(t, admin, "lost") == 1 })

		of.server.Stop(t)
		start := time.Now()
		if _, err := fresh.TryAcquire(t.Context(), request("key", time.Minute)); !unknown(err) || time.Since(start) > 10*time.Second {
			t.Errorf("the first call without a server, after %v: %v", time.Since(start), err)
		}
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
	})
}
