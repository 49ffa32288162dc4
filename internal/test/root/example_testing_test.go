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
	"github.com/distlock-go/distlock/locktest"
)

// The examples of docs/testing.md.

// Purse is a row of a database, whose statements refuse an older token than they have seen.
type Purse struct {
	mu            sync.Mutex
	balance, paid int
	token         uint64
}

// with runs a statement.
func (a *Purse) with(token uint64, run func()) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if token < a.token {
		return errOld
	}
	a.token = token
	run()
	return nil
}

func (a *Purse) read(token uint64) (balance int, err error) {
	err = a.with(token, func() { balance = a.balance })
	return balance, err
}

func (a *Purse) write(token uint64, balance, paid int) error {
	return a.with(token, func() { a.balance, a.paid = balance, a.paid+paid })
}

var (
	errOverdrawn = errors.New("overdrawn")
	errOld       = errors.New("the token is old")
)

// Withdraw takes two seconds.
func (a *Purse) Withdraw(ctx context.Context, amount int) (left int, err error) {
	lease, _ := distlock.FromContext(ctx)
	left, err = a.read(lease.Token())
	if left -= amount; err == nil && left < 0 {
		err = errOverdrawn
	}
	if err != nil {
		return 0, err
	}
	select {
	case <-time.After(2 * time.Second): // a request to the bank
	case <-ctx.Done(): // the lock is lost, or the caller has cancelled
		return 0, context.Cause(ctx)
	}
	return left, a.write(lease.Token(), left, amount)
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

func TestWithdrawalsOverABadNetwork(t *testing.T) {
	for seed := range uint64(100) {
		synctest.Test(t, func(t *testing.T) {
			store, purse := locktest.Unreliable(memlock.New(), seed), &Purse{balance: 100}
			var clients sync.WaitGroup
			for range 3 { // processes
				locker := distlock.New(store, distlock.Config{})
				withdraw := distlock.Wrap(locker, purse.Withdraw, withdrawOpts)
				clients.Go(func() {
					defer locker.Close()
					_, _ = withdraw(t.Context(), 10)
				})
			}
			clients.Wait()
			if purse.balance+purse.paid != 100 {
				t.Errorf("seed %d: %d paid, and %d left", seed, purse.paid, purse.balance)
			}
		})
	}
}

func TestOrderOfLocks(t *testing.T) {
	locker := distlock.New(memlock.New(), distlock.Config{Hooks: locktest.Order(t)})
	defer locker.Close()
	for _, task := range []func(context.Context, *distlock.Locker) error{Pay, Refund} {
		if err := task(t.Context(), locker); err != nil {
			t.Error(err)
		}
	}
}

var Pay, Refund = underBoth, underBoth

// underBoth takes both locks in one order.
func underBoth(ctx context.Context, l *distlock.Locker) error {
	return l.Do(ctx, "1", distlock.Opts{Prefix: "order:"}, func(ctx context.Context) error {
		return l.Do(ctx, "7", distlock.Opts{Prefix: "stock:"}, func(context.Context) error { return nil })
	})
}
