package sqllock

import (
	"context"
	crand "crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/distlock-go/distlock/internal/clock"
)

// Ping implements [driver.Pinger]. It returns nil if the database answers, has the
// tables, and does what a lock needs in the sessions of the pool: it changes a row,
// sees the change in another session, and runs a transaction that leaves nothing
// behind. The error says what is wrong with a session, and what to do. The first call
// of a Backend checks the same.
func (b *Backend) Ping(ctx context.Context) error {
	if err := b.ready(ctx); err != nil {
		return err
	}
	return b.check(ctx)
}

// ready checks the tables before they are used for the first time, and sees to it that
// there is a connection for renewals before there is something to renew.
func (b *Backend) ready(ctx context.Context) error {
	if b.background.Err() != nil {
		return errClosed
	}
	if err := b.checked.Do(ctx, b.check); err != nil {
		return err
	}
	if err := b.pool.reserve(ctx, b.config.OpTimeout); err != nil {
		return b.failure(err)
	}
	return nil
}

// check reads the version of the tables, and does once what a lock does. If it cannot
// read, it finds out why.
func (b *Backend) check(ctx context.Context) error {
	for _, try := range []func(context.Context) error{b.checkTables, b.tryStatement, b.tryTransaction} {
		if err := try(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (b *Backend) checkTables(ctx context.Context) error {
	var version int64
	return b.do(ctx, forAttempt, func(ctx context.Context, c *sql.Conn) error {
		err := b.dialect.fits(ctx, c)
		if err != nil {
			return err
		}
		// In MySQL another process may have created the table without its row.
		for range 10 {
			err = b.sql.version.row(ctx, c, nil).Scan(&version, new(int64))
			if b.dialect != MySQL || !errors.Is(err, sql.ErrNoRows) || !clock.Sleep(ctx, 50*time.Millisecond) {
				break
			}
		}
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return fmt.Errorf("the table %q has no version: CreateTable has not made it, or the row with the empty key was deleted", b.config.Table)
		case err == nil && version != schemaVersion:
			return fmt.Errorf("the table %q has version %d of the locks, and this program uses version %d", b.config.Table, version, schemaVersion)
		case err != nil && ctx.Err() == nil && !undone(err) && !noTable(err):
			return fmt.Errorf("the table %q cannot be read: %w", b.config.Table, err)
		}
		return err
	})
}

// tryStatement changes a row with a statement that commits by itself, as an acquisition
// does, and looks for the change in another session. Without it the statement is part
// of a transaction, and undone with it: another process would get the key, too.
func (b *Backend) tryStatement(ctx context.Context) error {
	return b.do(ctx, forAttempt, func(ctx context.Context, c *sql.Conn) error {
		var before, after int64
		if err := b.sql.version.row(ctx, c, nil).Scan(new(int64), &before); err != nil {
			return err
		}
		if _, err := b.sql.mark.exec(ctx, c, values{"token": rand.Int64()}); err != nil {
			return err
		}
		if b.db.Stats().MaxOpenConnections == 1 {
			return nil // there is no other session that could get the key
		}
		err := b.pool.use(ctx, forRelease, func(other *sql.Conn) error { return b.sql.version.row(ctx, other, nil).Scan(new(int64), &after) })
		switch {
		case noTable(err):
			err = fmt.Errorf("%w: another one does not have the tables: has each a database in memory?", errUnfit)
		case err == nil && before == after:
			err = fmt.Errorf("%w: another one does not see what it writes: a transaction was left open there", errUnfit)
		}
		if errors.Is(err, errUnfit) {
			finish(ctx, c, "ROLLBACK")
		}
		return err
	})
}

// tryTransaction does in one transaction all that locks need, and leaves nothing. In MySQL it
// looks whether a transaction can be undone: with MyISAM two owners would get a key.
func (b *Backend) tryTransaction(ctx context.Context) error {
	v := values{
		"key": "distlock:check:" + crand.Text(), "owner": "-", "ttl": int64(0), "tokens": int64(1), "retention": -time.Hour.Microseconds(),
		"ticket": int64(1), "sharing": int64(0), "prior": int64(0), "token": int64(0), "since": int64(0), "expires": int64(0), "busy": int64(0),
	}
	all, undo := []*statement{b.sql.create, b.sql.setKey, b.sql.addMember, b.sql.setMember, b.sql.touch, b.sql.delMember, b.sql.delKey}, error(nil)
	if b.dialect == MySQL {
		all, undo = append(all, b.sql.addGuard, b.sql.close, b.sql.delGuard, b.sql.create, b.sql.addMember, b.sql.addGuard), errors.New("undo")
	}
	err := b.transact(ctx, forAttempt, func(ctx context.Context, c *sql.Conn) error {
		for _, s := range all {
			if _, err := s.exec(ctx, c, v); err != nil {
				return err
			}
		}
		return undo
	})
	if undo == nil || !errors.Is(err, undo) {
		return err
	}
	return b.do(ctx, forAttempt, func(ctx context.Context, c *sql.Conn) error {
		left, err := b.sql.left.number(ctx, c, v)
		if left > 0 {
			err = fmt.Errorf("%w: the tables have no transactions: their ENGINE must be InnoDB", errUnfit)
		}
		return err
	})
}
