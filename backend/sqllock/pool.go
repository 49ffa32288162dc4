package sqllock

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/distlock-go/distlock/internal/rolling"
)

// purpose says what a connection is for.
type purpose int

const (
	forAttempt purpose = iota // it may wait for the application's connections
	forRelease                // it must not
	forRenewal                // it must not, and it is the first to have the reserved connection
)

// briefly is how long a release or a renewal waits for a connection of the pool before it
// takes the reserved one.
const briefly = 50 * time.Millisecond

// pool has the connections of a Backend. One of them is reserved if their number is
// limited: functions that hold all the others under locks must not keep the Backend from
// renewing these locks.
type pool struct {
	db       *sql.DB
	briefly  *rolling.Timeout
	reserved chan *sql.Conn // has the reserved connection unless it is in use; nil if it must be opened
}

func newPool(db *sql.DB) *pool {
	p := &pool{db: db, briefly: rolling.New(briefly), reserved: make(chan *sql.Conn, 1)}
	p.reserved <- nil
	return p
}

// reserve opens the reserved connection if there is none and there should be one, within
// the limit of time.
func (p *pool) reserve(ctx context.Context, limit time.Duration) error {
	if p.db.Stats().MaxOpenConnections < 2 {
		return nil
	}
	select {
	case c := <-p.reserved:
		if c != nil {
			p.reserved <- c
			return nil
		}
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		return p.useReserved(ctx, c, func(*sql.Conn) error { return nil })
	default:
		return nil // it is in use
	}
}

// use calls f with a connection, and returns the error of f.
func (p *pool) use(ctx context.Context, why purpose, f func(*sql.Conn) error) error {
	stats := p.db.Stats()
	if stats.MaxOpenConnections >= 2 && why == forRenewal {
		select {
		case c := <-p.reserved:
			return p.useReserved(ctx, c, f)
		default:
		}
	}
	wait := ctx
	if stats.MaxOpenConnections >= 2 && why != forAttempt {
		if stats.InUse >= stats.MaxOpenConnections {
			return p.awaitReserved(ctx, f)
		}
		wait = p.briefly.Context(ctx, time.Now())
	}
	c, err := p.db.Conn(wait)
	switch {
	case err == nil:
		defer c.Close() //nolint:errcheck // it goes back to the pool
		return f(c)
	case ctx.Err() == nil && wait.Err() != nil:
		return p.awaitReserved(ctx, f)
	case errors.Is(err, ctx.Err()) && p.usedUp():
		return errors.Join(errNoConn, err)
	}
	return err
}

// usedUp reports whether all connections are in use.
func (p *pool) usedUp() bool {
	stats := p.db.Stats()
	return stats.MaxOpenConnections > 0 && stats.InUse >= stats.MaxOpenConnections
}

func (p *pool) awaitReserved(ctx context.Context, f func(*sql.Conn) error) error {
	select {
	case c := <-p.reserved:
		return p.useReserved(ctx, c, f)
	case <-ctx.Done():
		return errors.Join(errNoConn, ctx.Err())
	}
}

// useReserved calls f with the reserved connection c, which may be nil. After an error that
// is not the database's, the next call opens another one, because c may be broken.
func (p *pool) useReserved(ctx context.Context, c *sql.Conn, f func(*sql.Conn) error) (err error) {
	defer func() {
		if err != nil && c != nil && code(err) == "" {
			_ = c.Close()
			c = nil
		}
		p.reserved <- c
	}()
	if c == nil {
		if c, err = p.db.Conn(ctx); err != nil {
			return err
		}
	}
	return f(c)
}

// close gives the reserved connection back when it is not in use any more.
func (p *pool) close() {
	if c := <-p.reserved; c != nil {
		_ = c.Close()
	}
	p.reserved <- nil
}
