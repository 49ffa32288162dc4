package main

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"
)

// advisory is the name of a peer in F17.
const advisory = "advisory"

// advisoryPeer is pg_advisory_lock, the lock of PostgreSQL that belongs to a session: the
// caller keeps the connection for as long as it holds the lock or waits for it. The
// server has it in memory only, and gives it back when the connection ends. It has no
// token.
type advisoryPeer struct{ pool *pgxpool.Pool }

func newAdvisory(url string) (Peer, error) {
	pool, err := newPostgreSQLPool(url)
	if err != nil {
		return nil, err
	}
	return &advisoryPeer{pool}, nil
}

// newPostgreSQLPool returns the pool of both peers, with a connection for each caller of
// F17.
func newPostgreSQLPool(url string) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.MaxConns = 64
	return pgxpool.NewWithConfig(context.Background(), config) // it does not connect
}

func (p *advisoryPeer) Lock(ctx context.Context, key string) (Held, error) {
	c, err := p.pool.Acquire(ctx)
	if err != nil {
		return Held{}, err
	}
	if _, err := c.Exec(ctx, "SELECT pg_advisory_lock(hashtextextended($1, 0))", key); err != nil {
		c.Release()
		return Held{}, err
	}
	return Held{Unlock: func(ctx context.Context) error {
		defer c.Release()
		var held bool
		err := c.QueryRow(ctx, "SELECT pg_advisory_unlock(hashtextextended($1, 0))", key).Scan(&held)
		if err == nil && !held {
			err = errGone
		}
		return err
	}}, nil
}

func (p *advisoryPeer) Close() error {
	p.pool.Close()
	return nil
}
