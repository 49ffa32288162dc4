package test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// Row 9 (any): renewals that are refused for less than a lease cost nothing. Fails if the
// store is not asked again after an error.
func TestRenewalsRefusedForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := testkit.NewStore()
		locker := testkit.NewLocker(t, store, distlock.Config{})
		lease := testkit.MustAcquire(t, locker, "key", distlock.Opts{KeyTimeout: 9 * time.Second})

		store.Fail(testkit.ErrBroken, testkit.Renew)
		time.Sleep(8 * time.Second) // two attempts or more
		store.Fail(nil)
		time.Sleep(time.Minute)
		if err := lease.Check(); err != nil {
			t.Errorf("the lease is over: %v", err)
		}
		if err := lease.Release(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A lease that is short at first is renewed before its end. Until says so without I/O, and
// Refresh extends it at once.
func TestLeaseThatIsShortAtFirst(t *testing.T) {
	const atFirst = 300 * time.Millisecond
	for name, c := range map[string]struct {
		opts    distlock.Opts
		pause   time.Duration
		refresh bool
		left    time.Duration // at least, after the pause
	}{
		"at once":   {distlock.Opts{KeyTimeout: time.Minute}, 0, false, 0},
		"refreshed": {distlock.Opts{KeyTimeout: time.Minute}, 0, true, 59 * time.Second},
		"later":     {distlock.Opts{KeyTimeout: time.Minute}, 10 * time.Second, false, 40 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			store := testkit.NewStore()
			store.ShortAtFirst(atFirst)
			l := testkit.NewLocker(t, store, distlock.Config{})
			s := testkit.MustAcquire(t, l, "k", c.opts)
			time.Sleep(c.pause)
			if c.refresh {
				wantIs(t, s.Refresh(t.Context()))
			}
			asked := len(store.Calls(testkit.Renew))
			if left := time.Until(s.Until()); left < c.left || c.left == 0 && left > atFirst {
				t.Errorf("%s: %v left, want at least %v", name, left, c.left)
			}
			if n := len(store.Calls(testkit.Renew)) - asked; n > 0 {
				t.Errorf("%s: Until sent %d requests", name, n)
			}
			wantIs(t, s.Release(t.Context()))
		})
	}
}
