package redlock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/testmode"
)

// The replies of a majority are lost after a lock was renewed, and after it was
// released: a repeated renewal keeps it, and a repeated release does not affect the
// next lock.
//
// Row 8 (redlock): a repeated renewal succeeds, and a repeated release does not affect
// the next lock. Fails if a release does not check the owner.
func TestRow08LostRenewalAndRelease(t *testing.T) {
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
	eventually(t, "it is renewed", func() bool {
		got := status(t, b, g)
		if got == driver.Lost {
			t.Fatal("the renewal denies its own lock")
		}
		return got == driver.Renewed
	})
	// Otherwise the release might use other connections than those without replies.
	eventually(t, "all nodes answer", func() bool { return b.InFlight() == 0 && f.have(lockKey, g.Owner) == 3 })

	deafen()
	if err := b.Release(t.Context(), g); err == nil || errors.Is(err, driver.ErrLost) {
		t.Errorf("a release without a majority: %v", err)
	}
	f.allFree(t)
	next := f.everywhere(t, other, request())
	for _, n := range networks {
		n.Kill()
	}
	eventually(t, "the release is answered", func() bool {
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
