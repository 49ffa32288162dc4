package cookbook

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/distlock-go/distlock"
)

// Bank is a database with accounts.
type Bank interface {
	Begin(ctx context.Context) (Transaction, error)
}

// Transaction changes accounts. Add fails if no row matches
//
//	UPDATE accounts SET balance = balance + $1, token = $2 WHERE id = $3 AND token <= $2
type Transaction interface {
	Add(account string, amount int, token uint64) error
	Commit() error
	Rollback() // without effect after Commit
}

// Book changes all accounts of a batch, or none.
func Book(ctx context.Context, locker *distlock.Locker, bank Bank, batch map[string]int) (err error) {
	accounts := slices.Sorted(maps.Keys(batch))
	opts := distlock.Opts{Prefix: "account:", Fencing: true, MaxWait: 10 * time.Second}
	leases, err := locker.AcquireAll(ctx, accounts, opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, leases.Release(ctx)) }()

	tx, err := bank.Begin(leases.Context())
	if err != nil {
		return err
	}
	defer tx.Rollback()
	for _, account := range accounts {
		if err := tx.Add(account, batch[account], leases.Lease(account).Token()); err != nil {
			return err
		}
	}
	if err := leases.Check(); err != nil { // the last moment to notice a loss
		return err
	}
	return tx.Commit()
}
