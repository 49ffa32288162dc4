package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// The names of the peers in F17.
const (
	advisory  = "advisory"
	forUpdate = "for-update"
)

// newPool returns the pool of both peers, with a connection for each caller of F17.
func newPool(t task) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(t.URL)
	if err != nil {
		return nil, err
	}
	config.MaxConns = 64
	return pgxpool.NewWithConfig(context.Background(), config) // it does not connect
}

// newAdvisory uses pg_advisory_lock, the lock of PostgreSQL that belongs to a session: the
// caller keeps the connection for as long as it holds the lock or waits for it. The
// server has it in memory only, and gives it back when the connection ends.
func newAdvisory(t task) (lockFunc, error) {
	pool, err := newPool(t)
	return func(ctx context.Context, key string) (unlockFunc, error) {
		c, err := pool.Acquire(ctx)
		if err != nil {
			return nil, err
		}
		if _, err := c.Exec(ctx, "SELECT pg_advisory_lock(hashtextextended($1, 0))", key); err != nil {
			c.Release()
			return nil, err
		}
		return func(ctx context.Context) error {
			defer c.Release()
			var held bool
			err := c.QueryRow(ctx, "SELECT pg_advisory_unlock(hashtextextended($1, 0))", key).Scan(&held)
			return lockedUntil(held, err)
		}, nil
	}, err
}

// newForUpdate uses SELECT … FOR UPDATE of a row for each key: the caller keeps a
// transaction open for as long as it holds the lock or waits for it. The end of the
// transaction is on disk before the server answers.
func newForUpdate(t task) (lockFunc, error) {
	pool, err := newPool(t)
	if err != nil {
		return nil, err
	}
	// All processes do this, and the statement fails if two do it at once.
	ctx := context.Background() // the time limit is the parent's
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock(1)"); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "CREATE TABLE IF NOT EXISTS row_lock (key text PRIMARY KEY)")
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("creating the table: %w", err)
	}
	return func(ctx context.Context, key string) (unlockFunc, error) {
		for {
			tx, err := pool.Begin(ctx)
			if err != nil {
				return nil, err
			}
			var found string
			err = tx.QueryRow(ctx, "SELECT key FROM row_lock WHERE key = $1 FOR UPDATE", key).Scan(&found)
			if err == nil {
				return tx.Commit, nil
			}
			_ = tx.Rollback(ctx) // the error of the query is the cause
			if !errors.Is(err, pgx.ErrNoRows) {
				return nil, err
			}
			if _, err := pool.Exec(ctx, "INSERT INTO row_lock VALUES ($1) ON CONFLICT DO NOTHING", key); err != nil {
				return nil, err
			}
		}
	}, nil
}
