package redlock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/distlock-go/distlock/backend/redlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// The replies of a majority are lost after a lock was renewed, and after it was
// released: a repeated renewal keeps it, and a repeated release does not affect the
// next lock.
//
// Row 8 (redlock): a repeated renewal succeeds, and a repeated release does not affect
// the next lock. Fails if a release does not check the owner.
func TestLostRenewalAndRelease(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	f := realFleet(t, 3)
	b, networks := spoilt(t, f, 2*time.Second)
	f.warm(t, b)
	other := f.backend(t)
	g := f.everywhere(t, b, request())
	deafen := func() {
		for _, n := range networks[:2] {
			n.Deafen()
		}
	}

	deafen()
	if got := status(t, b, g); got != driver.Unknown {
		t.Errorf("a renewal without a majority: %v", got)
	}
	for _, n := range networks {
		n.Kill()
	}
	testkit.Eventually(t, "it is renewed", func() bool {
		got := status(t, b, g)
		if got == driver.Lost {
			t.Fatal("the renewal denies its own lock")
		}
		return got == driver.Renewed
	})
	// Otherwise the release might use other connections than those without replies.
	testkit.Eventually(t, "all nodes answer", func() bool { return b.InFlight() == 0 && f.have(lockKey, g.Owner) == 3 })

	deafen()
	if err := b.Release(t.Context(), g); err == nil || errors.Is(err, driver.ErrLost) {
		t.Errorf("a release without a majority: %v", err)
	}
	f.allFree(t)
	next := f.everywhere(t, other, request())
	for _, n := range networks {
		n.Kill()
	}
	testkit.Eventually(t, "the release is answered", func() bool {
		err := b.Release(context.Background(), g)
		return err == nil || errors.Is(err, driver.ErrLost)
	})
	quiet(t, b)
	if n := f.have(lockKey, next.Owner); n != 3 {
		t.Errorf("the next one's lock is on %d of 3 nodes", n)
	}
	release(t, other, next)
	quiet(t, other)
	f.allFree(t)
}

// Two nodes lose the replies to an attempt, which is rolled back with a tombstone
// there. When nothing is in flight any more, the owner tries again: the tombstone does
// not refuse it, because a Locker uses one owner for all its attempts.
func TestTriesAgainLater(t *testing.T) {
	f := realFleet(t, 3)
	b, networks := spoilt(t, f, 300*time.Millisecond)
	f.warm(t, b)

	r := request()
	for range 3 {
		for _, n := range networks[:2] {
			n.DeafenAt(callOf(redlock.AcquireHash))
		}
		if _, err := b.TryAcquire(t.Context(), r); err == nil || errors.Is(err, driver.ErrNotAcquired) {
			t.Errorf("TryAcquire without replies: %v", err)
		}
		quiet(t, b)
		f.allFree(t)
	}
	var g driver.Grant
	testkit.Eventually(t, "the owner has the free key", func() (ok bool) {
		quiet(t, b)
		time.Sleep(20 * time.Millisecond) // the pause of a Locker
		var err error
		if g, err = b.TryAcquire(t.Context(), r); err != nil {
			t.Logf("TryAcquire of a free key: %v", err)
		}
		return err == nil
	})
	release(t, b, g)
	quiet(t, b)
	f.allFree(t)
	testkit.Eventually(t, "the owner is forgotten", func() bool { return b.Owners() == 0 })
}
