package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// forUpdate is the name of a peer in F17.
const forUpdate = "for-update"

// forUpdatePeer is SELECT … FOR UPDATE of a row for each key: the caller keeps a
// transaction open for as long as it holds the lock or waits for it. The end of the
// transaction is on disk before the server answers. It has no token.
type forUpdatePeer struct{ pool *pgxpool.Pool }

func newForUpdate(url string) (Peer, error) {
	pool, err := newPostgreSQLPool(url)
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
		pool.Close()
		return nil, fmt.Errorf("creating the table: %w", err)
	}
	return &forUpdatePeer{pool}, nil
}

func (p *forUpdatePeer) Lock(ctx context.Context, key string) (Held, error) {
	for {
		tx, err := p.pool.Begin(ctx)
		if err != nil {
			return Held{}, err
		}
		var found string
		err = tx.QueryRow(ctx, "SELECT key FROM row_lock WHERE key = $1 FOR UPDATE", key).Scan(&found)
		if err == nil {
			return Held{Unlock: tx.Commit}, nil
		}
		_ = tx.Rollback(ctx) // the error of the query is the cause
		if !errors.Is(err, pgx.ErrNoRows) {
			return Held{}, err
		}
		if _, err := p.pool.Exec(ctx, "INSERT INTO row_lock VALUES ($1) ON CONFLICT DO NOTHING", key); err != nil {
			return Held{}, err
		}
	}
}

func (p *forUpdatePeer) Close() error {
	p.pool.Close()
	return nil
}
