package sqllock

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/distlock-go/distlock/internal/text"
)

// Ping implements [driver.Pinger]. It returns nil if the database answers, has the tables,
// and is not a standby or read-only for another reason.
func (b *Backend) Ping(ctx context.Context) error {
	if err := b.ready(ctx); err != nil {
		return err
	}
	return b.check(ctx)
}

// ready checks the tables before they are used for the first time, and sees to it that
// there is a connection for renewals before there is something to renew.
func (b *Backend) ready(ctx context.Context) error {
	if b.ctx.Err() != nil {
		return errClosed
	}
	select {
	case <-b.checked:
	default:
		if err := b.checkOnce(ctx); err != nil {
			return err
		}
	}
	if err := b.pool.reserve(ctx, b.opts.opTimeout); err != nil {
		return b.failure(ctx, err)
	}
	return nil
}

// checkOnce lets one call check, and the others wait for it.
func (b *Backend) checkOnce(ctx context.Context) error {
	select {
	case b.checking <- struct{}{}:
		defer func() { <-b.checking }()
	case <-b.checked:
		return nil
	case <-ctx.Done():
		return b.failure(ctx, ctx.Err())
	}
	select {
	case <-b.checked:
		return nil
	default:
	}
	if err := b.check(ctx); err != nil {
		return err
	}
	close(b.checked)
	return nil
}

// check reads the version of the tables, and whether they can be written. If it cannot
// read, it finds out why.
func (b *Backend) check(ctx context.Context) error {
	var version int64
	err := b.do(ctx, forAttempt, func(ctx context.Context, c *sql.Conn) error {
		var mode string
		err := c.QueryRowContext(ctx, b.dialect.syntax().mode).Scan(&mode)
		switch {
		case err != nil:
			if is := b.actualDialect(ctx, c); is != 0 {
				return fmt.Errorf("the database is %v, and the dialect %v", is, b.dialect)
			}
			return err
		case mode == "on":
			return errReadOnly
		}
		// In MySQL another process may have created the table and not yet added the row.
		for range 10 {
			err = c.QueryRowContext(ctx, b.sql.version.text).Scan(&version)
			if b.dialect != MySQL || !errors.Is(err, sql.ErrNoRows) || !sleep(ctx, 50*time.Millisecond) {
				break
			}
		}
		switch {
		case noTable(err):
			return fmt.Errorf("%w: %q: CreateTable creates it: %s", ErrNoTable, b.opts.table, text.OneLine(err))
		case errors.Is(err, sql.ErrNoRows):
			return fmt.Errorf("the table %q has no version: CreateTable has not made it, or the row with the empty key was deleted", b.opts.table)
		case err == nil && version != schemaVersion:
			return fmt.Errorf("the table %q has version %d of the locks, and this program uses version %d", b.opts.table, version, schemaVersion)
		case err != nil && ctx.Err() == nil && !undone(err):
			return fmt.Errorf("the table %q cannot be read: %w", b.opts.table, err)
		}
		return err
	})
	return err
}

// actualDialect returns the dialect that the database understands; 0 if none.
func (b *Backend) actualDialect(ctx context.Context, c *sql.Conn) Dialect {
	for _, d := range []Dialect{Postgres, MySQL, SQLite} {
		var mode string
		if d != b.dialect && c.QueryRowContext(ctx, d.syntax().mode).Scan(&mode) == nil {
			return d
		}
	}
	return 0
}
