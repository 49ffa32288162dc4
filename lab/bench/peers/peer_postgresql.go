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

// advisoryPeer is pg_advisory_lock, the lock of PostgreSQL that belongs to a session: the
// caller keeps the connection for as long as it holds the lock or waits for it. The
// server has it in memory only, and gives it back when the connection ends.
type advisoryPeer struct{ pool *pgxpool.Pool }

func newAdvisory(url string) (Peer, error) {
	pool, err := newPool(url)
	return &advisoryPeer{pool}, err
}

// newPool returns the pool of both peers, with a connection for each caller of F17.
func newPool(url string) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.MaxConns = 64
	return pgxpool.NewWithConfig(context.Background(), config) // it does not connect
}

func (p *advisoryPeer) Lock(ctx context.Context, key string) (func(context.Context) error, error) {
	c, err := p.pool.Acquire(ctx)
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
}

func (p *advisoryPeer) Close() error {
	p.pool.Close()
	return nil
}

// forUpdatePeer is SELECT … FOR UPDATE of a row for each key: the caller keeps a
// transaction open for as long as it holds the lock or waits for it. The end of the
// transaction is on disk before the server answers.
type forUpdatePeer struct{ pool *pgxpool.Pool }

func newForUpdate(url string) (Peer, error) {
	pool, err := newPool(url)
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

func (p *forUpdatePeer) Lock(ctx context.Context, key string) (func(context.Context) error, error) {
	for {
		tx, err := p.pool.Begin(ctx)
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
		if _, err := p.pool.Exec(ctx, "INSERT INTO row_lock VALUES ($1) ON CONFLICT DO NOTHING", key); err != nil {
			return nil, err
		}
	}
}

func (p *forUpdatePeer) Close() error {
	p.pool.Close()
	return nil
}
