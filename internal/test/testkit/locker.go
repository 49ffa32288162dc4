package testkit

import (
	"context"
	"errors"
	"testing"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/admin"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/child"
)

// NewLocker returns a Locker that is closed at the end of the test, which must succeed.
func NewLocker(tb testing.TB, b driver.Backend, cfg distlock.Config) *distlock.Locker {
	tb.Helper()
	l := distlock.New(b, cfg)
	tb.Cleanup(func() {
		if err := l.Close(); err != nil {
			tb.Errorf("Close: %v", err)
		}
	})
	return l
}

// MustAcquire acquires a key.
func MustAcquire(tb testing.TB, l *distlock.Locker, key string, o distlock.Opts) *distlock.Lease {
	tb.Helper()
	lease, err := l.Acquire(tb.Context(), key, o)
	if err != nil {
		tb.Fatalf("Acquire(%q): %v", key, err)
	}
	return lease
}

// Lose takes the lock from its holder, whose context is ctx, and returns the cause with which
// that context ends.
func Lose(ctx context.Context, l *distlock.Locker) error {
	lease, ok := distlock.FromContext(ctx)
	if !ok {
		return errors.New("the context has no lease")
	}
	if _, err := admin.ForceRelease(ctx, l, lease.Key()); err != nil {
		return err
	}
	_ = lease.Refresh(ctx) // it notices
	<-ctx.Done()
	return context.Cause(ctx)
}

// Patience limits the wait for an event on a slow and busy machine.
const Patience = child.Patience

// Eventually waits until cond is true, and fails the test if it is not after [Patience].
var Eventually = child.Await

// On has a function for each kind of event that a test wants to be told of. Its method is a
// hook.
type On map[distlock.Kind]func(ctx context.Context, e distlock.Event)

// Event calls the function for the kind of e, if there is one.
func (on On) Event(ctx context.Context, e distlock.Event) {
	if f := on[e.Kind]; f != nil {
		f(ctx, e)
	}
}
