package sqllock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// A Backend that is closed refuses calls, also of a waiter.
func TestClose(t *testing.T) {
	each(t, func(t *testing.T, of *store) {
		b := of.open(t)
		testkit.MustTry(t, b, request("key", time.Minute))
		w := testkit.StartWaiter(t, b, request("key", time.Minute))
		testkit.Eventually(t, "a place", func() bool { return waiting(t, b, "key") == 1 })
		if err := b.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		<-w.Done
		fails(t, "Enqueue", w.Err, "closed")
		tellsWhy(t, b, "closed")
	})
}

// What MinHold keeps is in the database, and outlives the process.
func TestMinHoldOutlivesClose(t *testing.T) {
	each(t, func(t *testing.T, of *store) {
		b, peer := of.open(t), of.open(t)
		l := distlock.New(b, distlock.Config{})
		if err := l.Do(t.Context(), "key", distlock.Opts{MinHold: time.Hour}, func(context.Context) error { return nil }); err != nil {
			t.Error(err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		var held *driver.HeldError
		if _, err := peer.TryAcquire(t.Context(), request("key", time.Minute)); !errors.As(err, &held) || held.RetryAfter < 50*time.Minute {
			t.Errorf("another process: %v", err)
		}
	})
}
