package test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// The store refuses renewals for a while, as an overloaded server does.
//
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
