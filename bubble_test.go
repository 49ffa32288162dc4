package distlock_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/testkit"
)

// This file has what the tests of the package share: bubble runs most of them, and the rest
// are holders and waiters in it. The assertions are in want_test.go, the store is
// testkit.Store.

// bubble runs f in virtual time with a Locker over a store, and closes the Locker at
// the end.
func bubble(t *testing.T, f func(t *testing.T, l *distlock.Locker, s *testkit.Store)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := testkit.NewStore()
		f(t, testkit.NewLocker(t, s, distlock.Config{}), s)
	})
}

// extending returns a view of s that extends grants. It does not know its waiters, so a test
// refuses in its place.
func extending(s *testkit.Store) driver.Backend { return s.Only(testkit.Queuing | testkit.Extending) }

// The options of a reader, of a writer, and of a holder of one of three permits.
var (
	reading = distlock.Opts{Mode: distlock.Shared}
	writing = distlock.Opts{}
	permit  = distlock.Opts{Permits: 3}
)

// line starts n goroutines that run f under the lock, in this order.
func line(t *testing.T, all *sync.WaitGroup, l *distlock.Locker, n int, o distlock.Opts, f func(ctx context.Context, i int)) {
	t.Helper()
	for i := range n {
		all.Go(func() {
			wantIs(t, l.Do(t.Context(), "k", o, func(ctx context.Context) error { f(ctx, i); return nil }))
		})
		synctest.Wait()
	}
}

// inBackground acquires the lock of the key "k" in a goroutine and sends the lease.
func inBackground(t *testing.T, l *distlock.Locker, o distlock.Opts) <-chan *distlock.Lease {
	t.Helper()
	got := make(chan *distlock.Lease, 1)
	go func() {
		s, err := l.Acquire(t.Context(), "k", o)
		wantIs(t, err)
		got <- s
	}()
	synctest.Wait()
	return got
}

// mustWait checks that a waiter of inBackground still waits.
func mustWait(t *testing.T, got <-chan *distlock.Lease) {
	t.Helper()
	synctest.Wait()
	if len(got) > 0 {
		t.Fatal("was let in")
	}
}

// mustGet returns the lease of a waiter of inBackground, which has it by now.
func mustGet(t *testing.T, got <-chan *distlock.Lease) *distlock.Lease {
	t.Helper()
	synctest.Wait()
	if len(got) == 0 {
		t.Fatal("was not let in")
	}
	return <-got
}

// inVain waits for the lock of the key "k" until ctx is cancelled. It returns when the
// wait has begun, and all tells when it has ended.
func inVain(ctx context.Context, t *testing.T, l *distlock.Locker, all *sync.WaitGroup, o distlock.Opts) {
	t.Helper()
	all.Go(func() {
		_, err := l.Acquire(ctx, "k", o)
		wantIs(t, err, distlock.ErrNotAcquired, context.Canceled)
	})
	synctest.Wait()
}

func mustAcquireAll(t *testing.T, l *distlock.Locker, ctx context.Context, keys ...string) *distlock.MultiLease { //nolint:revive // t comes first in tests
	t.Helper()
	m, err := l.AcquireAll(ctx, keys, distlock.Opts{})
	if err != nil {
		t.Fatalf("AcquireAll(%q): %v", keys, err)
	}
	return m
}

// other holds a key, as another process would, until it is released.
func other(t *testing.T, s *testkit.Store, key string) (release func()) {
	t.Helper()
	r := driver.Request{Key: key, Owner: "other-" + key, TTL: time.Hour, Tokens: 1}
	if _, err := s.Backend.TryAcquire(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	return func() { wantIs(t, s.Backend.Release(context.Background(), r.Grant())) }
}

// heldFor returns how long the key stays with its owner from now on, measured by a
// waiter of another process.
func heldFor(t *testing.T, s *testkit.Store, key string) time.Duration {
	t.Helper()
	start := time.Now()
	r := driver.Request{Key: key, Owner: "next", TTL: time.Hour, Tokens: 1}
	if _, err := s.Memory().Acquire(context.Background(), r); err != nil {
		t.Fatalf("waiting for the key: %v", err)
	}
	defer s.Backend.Release(context.Background(), r.Grant())
	return time.Since(start)
}

// leavingCtx calls inTheMoment when a caller has seen that the context has ended and
// reads its error.
type leavingCtx struct {
	context.Context
	inTheMoment func()
}

func (c *leavingCtx) Err() error {
	if f := c.inTheMoment; f != nil {
		c.inTheMoment = nil
		f()
	}
	return c.Context.Err()
}
