package testkit

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/driver"
)

// Bubble runs f in virtual time with a Locker over a store, and closes the Locker at
// the end.
func Bubble(t *testing.T, f func(t *testing.T, l *distlock.Locker, s *Store)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := NewStore()
		f(t, NewLocker(t, s, distlock.Config{}), s)
	})
}

// WithoutWaiters returns a view of s that extends grants. It does not know its waiters, so a test
// refuses in its place.
func WithoutWaiters(s *Store) driver.Backend { return s.Only(Queuing | Extending) }

// Line starts n goroutines that run f under the lock, in this order.
func Line(t *testing.T, all *sync.WaitGroup, l *distlock.Locker, n int, o distlock.Opts, f func(ctx context.Context, i int)) {
	t.Helper()
	for i := range n {
		all.Go(func() {
			WantIs(t, l.Do(t.Context(), "k", o, func(ctx context.Context) error { f(ctx, i); return nil }))
		})
		synctest.Wait()
	}
}

// InBackground acquires the lock of the key "k" in a goroutine and sends the lease.
func InBackground(t *testing.T, l *distlock.Locker, o distlock.Opts) <-chan *distlock.Lease {
	t.Helper()
	got := make(chan *distlock.Lease, 1)
	go func() {
		s, err := l.Acquire(t.Context(), "k", o)
		WantIs(t, err)
		got <- s
	}()
	synctest.Wait()
	return got
}

// MustWait checks that a waiter of InBackground still waits.
func MustWait(t *testing.T, got <-chan *distlock.Lease) {
	t.Helper()
	synctest.Wait()
	if len(got) > 0 {
		t.Fatal("was let in")
	}
}

// MustGet returns the lease of a waiter of InBackground, which has it by now.
func MustGet(t *testing.T, got <-chan *distlock.Lease) *distlock.Lease {
	t.Helper()
	synctest.Wait()
	if len(got) == 0 {
		t.Fatal("was not let in")
	}
	return <-got
}

// InVain waits for the lock of the key "k" until ctx is cancelled. It returns when the
// wait has begun, and all tells when it has ended.
func InVain(ctx context.Context, t *testing.T, l *distlock.Locker, all *sync.WaitGroup, o distlock.Opts) {
	t.Helper()
	all.Go(func() {
		_, err := l.Acquire(ctx, "k", o)
		WantIs(t, err, distlock.ErrNotAcquired, context.Canceled)
	})
	synctest.Wait()
}

// MustAcquireAll acquires a set of keys.
func MustAcquireAll(t *testing.T, l *distlock.Locker, ctx context.Context, keys ...string) *distlock.MultiLease { //nolint:revive // t comes first in tests
	t.Helper()
	m, err := l.AcquireAll(ctx, keys, distlock.Opts{})
	if err != nil {
		t.Fatalf("AcquireAll(%q): %v", keys, err)
	}
	return m
}

// Other holds a key, as another process would, until it is released.
func Other(t *testing.T, s *Store, key string) (release func()) {
	t.Helper()
	r := driver.Request{Key: key, Owner: "Other-" + key, TTL: time.Hour, Tokens: 1}
	if _, err := s.Backend.TryAcquire(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	return func() { WantIs(t, s.Backend.Release(context.Background(), r.Grant())) }
}

// HeldFor returns how long the key stays with its owner from now on, measured by a
// waiter of another process.
func HeldFor(t *testing.T, s *Store, key string) time.Duration {
	t.Helper()
	start := time.Now()
	r := driver.Request{Key: key, Owner: "next", TTL: time.Hour, Tokens: 1}
	if _, err := s.Memory().Acquire(context.Background(), r); err != nil {
		t.Fatalf("waiting for the key: %v", err)
	}
	defer func() { WantIs(t, s.Backend.Release(context.Background(), r.Grant())) }()
	return time.Since(start)
}

// LeavingCtx calls InTheMoment when a caller has seen that the context has ended and
// reads its error.
type LeavingCtx struct {
	context.Context
	InTheMoment func()
}

// Err returns the error of the context.
func (c *LeavingCtx) Err() error {
	if f := c.InTheMoment; f != nil {
		c.InTheMoment = nil
		f()
	}
	return c.Context.Err()
}
