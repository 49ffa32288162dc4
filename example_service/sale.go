package main

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/distlock-go/distlock"
)

// sale is an order and its result.
type sale struct {
	orderRequest
	remaining int
	lease     *distlock.Lease // of the lock of the item; nil without a lock
}

// sell writes the stock and the order, and returns the id of the order.
func (s *store) sell(ctx context.Context, o sale) (id int64, err error) {
	err = s.transact(ctx, o.lease, func(ctx context.Context, tx *sql.Tx) error {
		if o.lease == nil {
			_, err := tx.ExecContext(ctx, `UPDATE items SET stock = $1 WHERE sku = $2`, o.remaining, o.SKU)
			if err != nil {
				return err
			}
			id, err = insertOrder(ctx, tx, o.orderRequest, 0)
			return err
		}
		token := int64(o.lease.Token())
		res, err := tx.ExecContext(ctx, `UPDATE items SET stock = $1, fence = $2 WHERE sku = $3 AND fence <= $2`,
			o.remaining, token, o.SKU)
		if err := unfenced(res, err); err != nil {
			return err
		}
		id, err = insertOrder(ctx, tx, o.orderRequest, token)
		return err
	})
	return id, err
}

func insertOrder(ctx context.Context, tx *sql.Tx, r orderRequest, token int64) (id int64, err error) {
	err = tx.QueryRowContext(ctx, `INSERT INTO orders (sku, buyer, quantity, token) VALUES ($1, $2, $3, $4) RETURNING id`,
		r.SKU, r.Buyer, r.Quantity, token).Scan(&id)
	return id, err
}

// reset sets the stock of sku and deletes its orders. The item keeps its fence, which
// must not decrease.
func (s *store) reset(ctx context.Context, r stockRequest, lease *distlock.Lease) error {
	return s.transact(ctx, lease, func(ctx context.Context, tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, `
			INSERT INTO items (sku, stock, fence) VALUES ($1, $2, $3)
			ON CONFLICT (sku) DO UPDATE SET stock = excluded.stock, fence = excluded.fence
			WHERE items.fence <= excluded.fence`, r.SKU, r.Stock, int64(lease.Token()))
		if err := unfenced(res, err); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `DELETE FROM orders WHERE sku = $1`, r.SKU)
		return err
	})
}

// unfenced returns errFenced if a fenced statement changed nothing. Items are never
// deleted, so there is no other reason.
func unfenced(res sql.Result, err error) error {
	if err != nil {
		return err
	}
	n, err := res.RowsAffected()
	if err == nil && n == 0 {
		err = errFenced
	}
	return err
}

// transact runs f in a transaction and commits it. The commit is inside the lock,
// because a caller of this function releases the lock: if the lock were released first,
// the next holder would read a stock that is about to change. The lease is checked
// last, so that a holder that was paused does not commit. The lease is nil without a
// lock.
//
// The end of ctx does not end a transaction that has begun, because the outcome of a
// commit that is cut off is not known.
func (s *store) transact(ctx context.Context, lease *distlock.Lease, f func(context.Context, *sql.Tx) error) error {
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.timeout)
	defer cancel()
	tx, err := s.write.BeginTx(limited, nil)
	if err != nil {
		return s.failure(ctx, err)
	}
	defer tx.Rollback() //nolint:errcheck // without effect after the commit
	if err := f(limited, tx); err != nil {
		return s.failure(ctx, err)
	}
	if lease != nil {
		if err := lease.Check(); err != nil {
			return err
		}
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("%w: %s: %w", errCommit, s.name, oneLine(err))
	}
	return nil
}
