package test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/driver"
)

// The examples of docs/testing.md.

// Purse reads its balance, calls the bank, and writes the rest: without a lock two
// withdrawals see the same balance.
type Purse struct{ balance int }

var errOverdrawn = errors.New("overdrawn")

// Withdraw takes two seconds.
func (a *Purse) Withdraw(ctx context.Context, amount int) (left int, err error) {
	left = a.balance - amount
	if left < 0 {
		return 0, errOverdrawn
	}
	select {
	case <-time.After(2 * time.Second): // a request to the bank
	case <-ctx.Done(): // the lock is lost, or the caller has cancelled
		return 0, context.Cause(ctx)
	}
	a.balance = left
	return left, nil
}

// withdrawOpts is the lock of a purse.
var withdrawOpts = distlock.Opts{Prefix: "bank:", Value: "purse", MaxWait: 3 * time.Second}

func TestTwoWithdrawals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locker := distlock.New(memlock.New(), distlock.Config{})
		defer locker.Close()

		purse := &Purse{balance: 100}
		withdraw := distlock.Wrap(locker, purse.Withdraw, withdrawOpts)

		start := time.Now()
		var clients sync.WaitGroup
		for range 2 {
			clients.Go(func() {
				if _, err := withdraw(t.Context(), 50); err != nil {
					t.Error(err)
				}
			})
		}
		clients.Wait()
		if purse.balance != 0 || time.Since(start) != 4*time.Second { // one after the other
			t.Errorf("%d left after %v", purse.balance, time.Since(start))
		}
	})
}

func TestBusyPurse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memlock.New()
		locker := distlock.New(store, distlock.Config{})
		defer locker.Close()
		other := distlock.New(store, distlock.Config{Holder: "web-3"}) // another process
		defer other.Close()

		lease, err := other.Acquire(t.Context(), "bank:purse", distlock.Opts{})
		if err != nil {
			t.Fatal(err)
		}
		defer lease.Release(t.Context())

		start := time.Now()
		withdraw := distlock.Wrap(locker, new(Purse).Withdraw, withdrawOpts)
		_, err = withdraw(t.Context(), 50)
		if !errors.Is(err, distlock.ErrNotAcquired) || time.Since(start) != 3*time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}

func TestLossDuringWithdrawal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memlock.New()
		locker := distlock.New(store, distlock.Config{})
		defer locker.Close()

		opts := withdrawOpts
		opts.KeyTimeout = 3 * time.Second // renewed each second
		purse := &Purse{balance: 100}
		withdraw := distlock.Wrap(locker, purse.Withdraw, opts)

		time.AfterFunc(500*time.Millisecond, func() { store.Drop("bank:purse") })
		_, err := withdraw(t.Context(), 50)
		if !errors.Is(err, distlock.ErrLost) || purse.balance != 100 {
			t.Errorf("%d left, %v", purse.balance, err)
		}
	})
}

// unreachable is a store that does not answer.
type unreachable struct{ driver.Backend }

func (unreachable) TryAcquire(context.Context, driver.Request) (driver.Grant, error) {
	return driver.Grant{}, errors.New("connection refused")
}

func TestWithdrawalDuringAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locker := distlock.New(unreachable{memlock.New()}, distlock.Config{})
		defer locker.Close()
		withdraw := distlock.Wrap(locker, new(Purse).Withdraw, withdrawOpts)
		if _, err := withdraw(t.Context(), 50); !errors.Is(err, distlock.ErrUnavailable) {
			t.Error(err)
		}
	})
}
