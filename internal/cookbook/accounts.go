package cookbook

import (
	"context"
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
func Book(ctx context.Context, locker *distlock.Locker, bank Bank, batch map[string]int) error {
	accounts := slices.Sorted(maps.Keys(batch))
	opts := distlock.Opts{Prefix: "account:", Fencing: true, MaxWait: 10 * time.Second}
	return locker.DoAll(ctx, accounts, opts, func(ctx context.Context) error {
		tx, err := bank.Begin(ctx)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		for _, account := range accounts {
			lease, held := distlock.Held(ctx, opts.Prefix+account)
			if !held {
				return distlock.ErrLost
			}
			if err := tx.Add(account, batch[account], lease.Token()); err != nil {
				return err
			}
		}
		for _, account := range accounts { // the last moment to notice a loss
			if _, held := distlock.Held(ctx, opts.Prefix+account); !held {
				return distlock.ErrLost
			}
		}
		return tx.Commit()
	})
}
