package test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/admin"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// A holder that listens is told at once, and gives the key to the waiter. One that does not
// listen keeps it.
func TestRevoke(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		rival := testkit.NewLocker(t, s, distlock.Config{})
		held := testkit.MustAcquire(t, l, "k", distlock.Opts{})
		wantIs(t, l.Do(held.Context(), "k", distlock.Opts{}, func(ctx context.Context) error {
			inner, _ := distlock.FromContext(ctx)
			if inner.Revoked() != held.Revoked() {
				t.Error("a re-entry has a channel of its own")
			}
			return nil
		}))
		next := make(chan *distlock.Lease)
		go func() { next <- testkit.MustAcquire(t, rival, "k", distlock.Opts{}) }()
		synctest.Wait()
		select {
		case <-held.Revoked():
			t.Error("the holder was asked by a waiter")
		default:
		}

		asked, err := admin.Revoke(t.Context(), rival, "k")
		wantIs(t, err)
		if !asked {
			t.Error("the key is held, but Revoke says that it is not")
		}
		<-held.Revoked()
		wantIs(t, held.Check()) // nothing was taken away
		wantIs(t, held.Release(t.Context()))
		late := <-next
		select {
		case <-late.Revoked():
			t.Error("the next holder was told of the request to the one before")
		case <-time.After(time.Minute):
		}
		wantIs(t, late.Release(t.Context()))

		asked, err = admin.Revoke(t.Context(), l, "k")
		if wantIs(t, err); asked {
			t.Error("the key is free, but Revoke says that it is held")
		}
	})
}

// Without the ability there is no request, and the channel is never ready.
func TestRevokeUnsupported(t *testing.T) {
	l := testkit.NewLocker(t, testkit.NewStore().Only(0), distlock.Config{})
	held := testkit.MustAcquire(t, l, "k", distlock.Opts{})
	if held.Revoked() != nil {
		t.Error("there is a channel")
	}
	if _, err := admin.Revoke(t.Context(), l, "k"); !errors.Is(err, errors.ErrUnsupported) || keyOf(err) != "k" {
		t.Errorf("the error is %v", err)
	}
	_, err := admin.Revoke(t.Context(), l, "")
	wantIs(t, err, distlock.ErrKey)
	wantIs(t, held.Release(t.Context()))
}
